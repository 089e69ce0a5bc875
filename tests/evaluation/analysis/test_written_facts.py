from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.splits.split_file import make_split
from evaluation.analysis.tables import Rate, rates
from evaluation.analysis.written_facts import (
    LOSSES,
    STAGES,
    asked_in_every_way,
    prompt_values,
    text_tables,
    text_values,
    written_fact_tables,
)
from evaluation.metrics.fact_texts import PLACES
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import score_run
from schemas.runs import CaseResult
from tests.support.arithmetic import make_cases
from tests.support.report.texts_run import TEXTS, _Elsewhere, finished


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


def test_texts_after_neighbours_that_recur_have_two_way_intervals(tmp_path: Path) -> None:
    """By case alone the intervals were too narrow; those of NS-gen in the table beside are by case and neighbour."""
    cases = make_cases(8, 0).cases
    ring = [c.model_copy(update={"neighbours": (*c.neighbours, *cases[n - 1].neighbours)}) for n, c in enumerate(cases)]
    run = finished(tmp_path, ["ns_gen"], split=make_split("ring", ring))
    values = [v | {"hit": n % 3 == 0} for n, v in enumerate(prompt_values(run)) if v["place"] == "neighbour"]
    ((_, count, hit), _) = rates(values, ["method"], [Rate("Hit", "hit")])
    assert count == 16 and "neighbour" in hit.kind


def tables(run: Any) -> dict[str, dict[Any, dict[str, Any]]]:
    """Title -> first cells of a row -> head -> cell."""
    return {
        t.title: {row[0] if t.head[1] != "Place" else row[:2]: dict(zip(t.head, row, strict=True)) for row in t.rows}
        for t in text_tables(run, "mean")
    }


def test_naming_gaps_and_shapes_by_hand(tmp_path: Path) -> None:
    """The unedited model names Lima everywhere, the edited one Oslo; S-ES is what probabilities say."""
    found = tables(finished(tmp_path, ["s_es", *TEXTS]))
    named = found["Which object is named first"]
    assert set(named) == {(e, p) for e in ("none", "push") for p in ("script prompt", "question")}
    none, push = named["none", "question"], named["push", "script prompt"]
    assert none["Texts"] == 12 and [none[h].mean for h in list(none)[3:]] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert push["New first"].mean == 1.0
    gap = found["S-ES compared with the written text"]["push"]
    assert gap["Prompts"] == 12 and -1.0 < gap["Δ S-ES to S-ES-gen"].mean < 0.0, "written more often than preferred"
    shape = found["Length and format of the scripts"]["push"]
    assert (shape["Scripts"], shape["Steps"].mean, shape["Cut off, %"].mean) == (12, 2.0, 0.0)
    assert shape["Words"].mean == 16.0, "six in the first line, ten in the second"
    assert shape["Entropy, bits"].mean > 0 and shape["Broken rules"] == "none"


def test_gaps_count_only_what_the_unedited_model_knew(tmp_path: Path) -> None:
    gap = tables(finished(tmp_path, ["s_es", *TEXTS], lm=_Elsewhere()))["S-ES compared with the written text"]["push"]
    assert gap["Prompts"] == 12 and gap["Δ where the unedited model names the old object"].mean is None


def test_missing_texts_are_in_no_figure(tmp_path: Path) -> None:
    run = finished(tmp_path, ["s_es", "s_es_gen"])
    assert "Length and format of the scripts" not in tables(run)
    editor, key = run.editors[1], run.cases[0]
    cut: CaseResult = editor.results[key].model_copy(update={"answers": editor.results[key].answers[:-1]})
    less = run._replace(editors=(run.editors[0], editor._replace(results={**editor.results, key: cut})))
    assert len(text_values(less, "script prompt")) == len(text_values(run, "script prompt")) - 1
