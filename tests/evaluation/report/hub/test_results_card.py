"""Results on a hub: three tables and a card with every figure; nothing of this machine."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.comparison import compare
from evaluation.analysis.exports import TABLES
from evaluation.metrics.generation import load_metrics
from evaluation.report.results_card import results_card, results_files
from evaluation.runs.frame import score_run
from tests.support.report.texts_run import finished

METRICS = ["es", "ns", "ns_kl"]


def test_tables_and_card(tmp_path: Path) -> None:
    run = finished(tmp_path / "secret-place" / "mine", METRICS)
    (tmp_path / "out").mkdir()
    files = results_files([run], tmp_path / "out")
    assert [f.name for f in files] == ["README.md", *(f"{name}.parquet" for name in TABLES)]
    assert all(f.size > 100 for f in files)
    for file in files:
        assert isinstance(file.content, Path) and b"secret-place" not in file.content.read_bytes()


def test_every_figure_with_its_interval_and_cases(tmp_path: Path) -> None:
    run = finished(tmp_path / "mine", METRICS)
    text, metrics = results_card([run]), load_metrics(METRICS)
    assert run.split.digest in text and f"{len(run.cases)} cases" in text and "CC0-1.0" in text
    for table in compare(run, score_run(run, metrics, "mean"), metrics):
        for row in table.rows:
            for metric in metrics:
                interval = row.summaries[metric.name].interval
                if interval.mean is not None:
                    start = f"| {row.label} | {table.group} | {metric.title} | "
                    (line,) = [one for one in text.split("\n") if one.startswith(start)]
                    assert line.endswith(f" | {interval.n} |") and "[" in line
                    assert ("nats" in line) is (metric.name == "ns_kl")


def test_labels_cannot_break_out_of_the_table(tmp_path: Path) -> None:
    editors = ["none", {"name": "push", "label": "p|u<b>\u202esh`"}]
    text = results_card([finished(tmp_path / "mine", ["es"], editors=editors)])
    assert "<b>" not in text and "\u202e" not in text and "p\\|u" in text
