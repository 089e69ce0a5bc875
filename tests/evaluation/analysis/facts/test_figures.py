"""The figures of a run are there where something was asked, and nothing where not."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.comparison import score_run
from evaluation.analysis.facts.figures import FactAnalysis, fact_analysis
from evaluation.runs.plan import load_metrics
from tests.support.report.texts_run import finished


def test_all_or_nothing(tmp_path: Path) -> None:
    names = ["es", "es_argmax", "es_gen", "ns_kl"]
    run, metrics = finished(tmp_path / "all", names), load_metrics(names)
    figures = fact_analysis(run, score_run(run, metrics, "mean"), metrics, "mean")
    assert figures and (len(figures.rates), len(figures.gaps), len(figures.strictness)) == (2, 2, 1)
    assert not figures.orders, "one method has no order"
    run, metrics = finished(tmp_path / "none", ["es"]), load_metrics(["es"])
    assert fact_analysis(run, score_run(run, metrics, "mean"), metrics, "mean") == FactAnalysis()
    assert not FactAnalysis()
