"""A whole run on two documents with a tiny model: every method, EM against greedy writing, PPL against its formula."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from curation.splits.split_file import Split, make_split
from evaluation.analysis.comparison import compare
from evaluation.metrics import METRICS
from evaluation.metrics.documents import answer_probe
from evaluation.metrics.generation import DocumentChoice, metrics_of
from evaluation.report.write import write_report
from evaluation.runs.frame import score_run
from evaluation.runs.results import load_run
from evaluation.runs.runner import EditorOutcome
from schemas.cases import DocumentCase
from tests.support.arithmetic import make_config
from tests.support.documents.grouped import grouped_case
from tests.support.documents.records import document_case, document_records, make_probe
from tests.support.documents.shared import write_set
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.tiny import make

METHODS = [
    "ice",
    {"name": "lora", "params": {"steps": 4, "lr": 1e-2}},
    {"name": "ft_lm", "params": {"lr": 1e-3, "scope": "mlps"}},
]
NAMES = [name for name in METRICS.names() if METRICS.get(name).takes == ("document",)]
MODEL: dict[str, Any] = {"max_position_embeddings": 512}


def documents() -> Split:
    *_, document, probe = document_records()
    several = make_probe("From ___ to ___.", "Rovo", level=2, document=document.key)
    return make_split(
        "documents",
        [document_case(), DocumentCase(key="case/d/tram", document=document, probes=(probe, several))],  # type: ignore[arg-type]
    )


def run(out: Path, split: Split | None = None, **more: Any) -> list[EditorOutcome]:
    """All methods under all metrics of documents."""
    lm, table = make("llama", **MODEL), {"answer_tokens": 4}
    record = {"file": str(write_set(out.parent / "sets", model=lm.name)), "number": 3}
    config = make_config(
        out, **{"editors": METHODS, "metrics": NAMES, "documents": table, "specificity": record, **more}
    )
    return run_tiny(config, split or documents(), lm)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("documents") / "whole"
    assert not any(outcome.failed for outcome in run(out))
    return out


def test_every_method_has_every_answer_and_perplexity_is_that_of_its_formula(whole: Path) -> None:
    content = load_run(whole)
    metrics = metrics_of(content.about)
    table = compare(content, score_run(content, metrics, "mean"), metrics)[0]
    assert [row.label for row in table.rows] == ["none", "ice", "lora", "ft_lm"]
    expected_ids = {
        answer_probe(p, DocumentChoice()).id for c in documents().all_cases for p in c.probes if p.blanks < 2
    }  # type: ignore[union-attr]
    for row, editor in zip(table.rows, content.editors, strict=True):
        assert {m: s.unscored for m, s in row.summaries.items() if s.unscored} == {
            **dict.fromkeys(("em", "em_2", "em_text", "f1", "ppl", "ppl_2"), 1),
            **{m: 1 for m in ("f1_new", "ppl_new") if m in row.summaries},
            **{m: 1 for m in ("em_new", "em_text_new") if m in row.summaries and not row.baseline},
        }, "the query with two blanks"
        scores = [
            t for r in editor.results.values() for a in r.answers if a.probe in expected_ids for t in a.targets
        ]  # fmt: skip
        assert len(scores) == 5 and {t.greedy for t in scores} <= {True, False}
        value = math.exp(-sum(t.logprob for t in scores) / sum(t.tokens for t in scores))
        assert row.summaries["ppl"].mean == pytest.approx(value) and row.summaries["ppl"].unit == "perplexity"
    low = {row.label: row.summaries["ppl_edit"].mean for row in table.rows}
    assert max(low["lora"], low["ft_lm"]) < low["none"], "what is trained on a document knows it better"
    assert {row.summaries["em_spec"].items for row in table.rows} == {6}, "three questions after either edit"
    gain = table.rows[2].gain["ppl_edit"]
    assert gain.unit == "ratio" and gain.mean == pytest.approx(low["lora"] / low["none"]) and gain.mean < 1


def test_the_report_prints_perplexities_as_they_are(whole: Path) -> None:
    files = write_report([whole]).files
    page = next(f for f in files if f.name == "report.html").read_text(encoding="utf-8")
    markdown = next(f for f in files if f.suffix == ".md").read_text(encoding="utf-8")
    row = next(line for line in markdown.partition("Difference to no edit")[2].splitlines() if "| lora" in line)
    assert "Free-text knowledge editing" in page and "Script-based" not in page
    assert "In the columns of MULFE" in page and "On the frontier" in page and "EM ↑, %" in page
    assert "| ×" in row and "PPL, document ↓" in markdown and "×" in page


@pytest.mark.usefixtures("no_pictures")
def test_without_the_metrics_of_the_paper_its_table_is_left_out(tmp_path: Path) -> None:
    """Benchmarks of single facts are documents, too, and ask for other groups of probes."""
    run(tmp_path / "f1", editors=["ice"], metrics=["f1"])
    page = next(f for f in write_report([tmp_path / "f1"]).files if f.name == "report.html").read_text(encoding="utf-8")
    assert "In the columns of MULFE" not in page and "EM by tag" not in page
    assert "Free-text knowledge editing" in page


@pytest.mark.usefixtures("no_pictures")
def test_a_report_on_what_follows_from_facts_is_not_headed_as_one_on_documents(tmp_path: Path) -> None:
    run(tmp_path / "hops", make_split("hops", [grouped_case()]), editors=["ice"], metrics=["em_hop"])
    page = next(f for f in write_report([tmp_path / "hops"]).files if f.name == "report.html").read_text("utf-8")
    assert page.count("What follows from knowledge edits") == 2 and "Free-text" not in page
    assert "of an edited document" not in page and "1 fact of the split hops was edited" in page
