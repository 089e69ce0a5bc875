"""Rates and stages by hand; a prompt is read in every way that the run asked it, and only so."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.analysis.tables import rates
from evaluation.analysis.written_facts import (
    LOSSES,
    STAGES,
    asked_in_every_way,
    prompt_values,
    written_fact_tables,
)
from evaluation.metrics.fact_texts import PLACES
from evaluation.runs.frame import score_run
from evaluation.runs.plan import load_metrics
from tests.support.report.texts_run import finished


def reading(case: str, *, first: bool, exact: bool, begins: bool, tokens: int, matched: int) -> dict[str, object]:
    shares = {"matched": matched / tokens, "whole": matched == tokens}
    return {"case": case, "preferred": True, **shares, "begins": begins, "exact": exact, "first": first, "m": "m"}


FOUR = [
    reading("a", first=True, exact=True, begins=True, tokens=1, matched=1),  # "Oslo"
    reading("b", first=True, exact=False, begins=True, tokens=2, matched=2),  # "Oslo, a city in"
    reading("c", first=True, exact=False, begins=False, tokens=4, matched=3),  # "the city of Oslo"
    reading("d", first=False, exact=False, begins=False, tokens=2, matched=0),  # "Lima or Oslo"
]


def test_every_stage_by_hand() -> None:
    ((_, prompts, *stages),) = rates(FOUR, ["m"], STAGES)
    assert prompts == 4 and [v.mean for v in stages] == pytest.approx([1.0, 0.6875, 0.5, 0.5, 0.25, 0.75])
    ((_, _, *losses),) = rates(FOUR, ["m"], LOSSES)
    assert [v.mean for v in losses] == pytest.approx([0.3125, 0.1875, 0.0, 0.25, 0.5, 0.25])
    assert sum(v.mean for v in losses[:4]) == pytest.approx(1.0 - 0.25), "from preferred to exact nothing is left over"


def test_what_is_preferred_is_what_the_metrics_say(tmp_path: Path) -> None:
    run, metrics = finished(tmp_path, ["es", "ps", "ns"]), load_metrics(["es", "ps", "ns"])
    scores, values = score_run(run, metrics, "mean"), prompt_values(run)
    for editor in run.editors:
        for place, metric in zip(PLACES, metrics, strict=True):
            mine = [v for v in values if (v["method"], v["place"]) == (editor.label, place)]
            items = [i.value for s in scores.by_editor[editor.label][metric.name].values() for i in s.items]
            assert [float(bool(v["preferred"])) for v in mine] == items and items
    assert asked_in_every_way(values) == [] and written_fact_tables(run, "mean") == []


def test_only_what_was_asked_in_every_way_is_taken_apart(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", "es_argmax", "es_gen", "ps_gen"])
    titles = [table.title for table in written_fact_tables(run, "mean")]
    assert titles[0] == "Free text: fact prompts" and titles[-1] == "Free text: paraphrases" and len(titles) == 5
    table = written_fact_tables(run, "mean")[0]
    assert [row[0] for row in table.rows] == ["none", "push"] and len(table.head) == len(table.rows[0])
    shown = dict(zip(table.head, table.rows[1], strict=True))
    assert shown["Neither"].mean == 1.0, "the first line packs clothes"
