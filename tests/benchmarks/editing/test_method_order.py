"""Tables of the methods' order: what stands in their cells, and where they are put."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.metrics.generation import metrics_of
from evaluation.runs.frame import score_run
from evaluation.runs.results import Run, load_run
from tests.support.arithmetic import go, make_cases

benchmark = pytest.importorskip("benchmarks.editing.method_order", reason="benchmarks are not shipped")
METRICS = ["es", "es_argmax", "es_gen", "ps"]
EDITORS: list[Any] = [
    "none",
    *({"name": "push", "label": f"push{n}", "params": {"strength": float(n)}} for n in (1, 3, 9)),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("order")
    regime = {"name": "batch", "size": [1, 3]}
    go(out, split=make_cases(6, 0), metrics=METRICS, editors=EDITORS, regime=regime)
    return load_run(out)


def test_a_row_a_condition_with_means_and_ranks(run: Run) -> None:
    (order,) = benchmark.orders(run)
    head, _, *rows = benchmark.order_table(order).split("\n")
    assert [cell.strip() for cell in head.split("|")[2:5]] == [f"`{m}`" for m in order.methods]
    assert len(rows) == len(order.conditions) == 2 * len(METRICS)
    metrics = metrics_of(run.about)
    means = score_run(run, metrics, "mean").means("push9 (batch of 3)", "es")
    row = next(r for r in rows if r.startswith("| ES, batch of 3 |"))
    assert f"| {100 * sum(means.values()) / len(means):.1f} (" in row


def test_gaps_are_those_of_edits_made_one_at_a_time(run: Run) -> None:
    rows = benchmark.markdown(benchmark.gap_table(run)).split("\n")[2:]
    assert {r.split("|")[1].strip() for r in rows} == {"fact prompt"}, "paraphrases were not written after"
    assert [r.split("|")[2].strip() for r in rows] == ["`none`", *(f"`push{n} (batch of 1)`" for n in (1, 3, 9))]
    assert all(r.count("|") == 13 for r in rows)


def test_the_page_gets_them_between_its_marks(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, kept = tmp_path / "page.md", {}
    page.write_text(f"before\n{benchmark.MARKS[0]}\nold\n{benchmark.MARKS[1]}\nafter")
    monkeypatch.setattr(benchmark, "write", lambda name, result: kept.update({name: result}))
    benchmark.main([str(run.folder)])
    assert "old" in page.read_text() and not kept, "without a page the tables are printed alone"
    benchmark.main([str(run.folder), "--page", str(page)])
    text = page.read_text()
    assert text.startswith("before") and text.endswith("after") and "old" not in text and "tau-b" in text
    (order,) = json.loads(json.dumps(kept["editing/method_order"]))["orders"]
    assert order["subject"] == "efficacy" and len(order["conditions"]) == 8
    assert "teacher forcing" in capsys.readouterr().out
