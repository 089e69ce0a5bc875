"""The report shows the section with its numbers and pictures where there is something, and says what would fill it."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.facts.figures import FactAnalysis
from evaluation.report.facts.section import fact_section
from evaluation.report.write import write_report
from tests.support.report.read_report import finished, read

PUSHES = [{"name": "push", "label": f"<push{n}>", "params": {"strength": float(n)}} for n in (1, 3, 9)]


def test_a_report_with_everything(tmp_path: Path) -> None:
    metrics = ["es", "es_argmax", "es_gen", "ps", "ns", "ns_kl", "ns_top", "s_ns", "s_ns_kl", "unrelated_top"]
    html, reader = read(write_report([finished(tmp_path, metrics=metrics, editors=["none", *PUSHES])]).files[0])
    assert reader.stack == [] and not reader.loads and "<push1>" not in html and "&lt;push1&gt;" in html
    text = " ".join(reader.text)
    for words in ("Free text: Fact prompts", "order by efficacy", "order by locality", "How strict locality is"):
        assert words in text
    assert html.count('<figure class="wide scroll"') == 2 + 3
    assert "Free text: Paraphrases" not in text, "nothing was written there"


def test_a_report_without_says_what_to_add(tmp_path: Path) -> None:
    _, reader = read(write_report([finished(tmp_path, metrics=["s_es"])]).files[0])
    assert "add es_gen, es_argmax and ns_kl to the run's metrics" in " ".join(reader.text).replace("&#39;", "'")
    assert fact_section(None) is None is fact_section(FactAnalysis())
