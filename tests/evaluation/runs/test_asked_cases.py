"""A sampled sequence asks fewer cases than it edits: nothing is left to run, and seconds of an edit are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.splits.split_file import make_split, write_split
from evaluation.analysis.comparison import compare, merge_runs
from evaluation.analysis.sequences import forgetting_points
from evaluation.metrics.generation import load_metrics
from evaluation.report.csv_tables import flat
from evaluation.report.narrative import _of_run, opening
from evaluation.report.sections import make_section
from evaluation.runs.asked_cases import asked_cases, edits_made
from evaluation.runs.frame import score_run
from evaluation.runs.plan import open_plan
from evaluation.runs.results import Run, load_run
from tests.support.arithmetic import go, make_case, make_config
from tests.support.report.fading import run

SAMPLED = {"name": "sequential", "size": [1, 4], "sample": 2}
SHORT = {"name": "sequential", "size": [1, 2], "sample": 9}
UNSAMPLED = {"name": "sequential", "size": [1, 2]}


def _table(found: Run) -> Any:
    metrics = load_metrics(["es"])
    return compare(found, score_run(found, metrics, "mean"), metrics)[0]


@pytest.mark.parametrize(
    ("regime", "asked", "made"),
    [(SAMPLED, 3, 4), (SHORT, 2, 2), ({**SAMPLED, "size": 4}, 2, 4), ("single", 4, 4)],
)
def test_what_is_never_asked_is_not_waited_for(tmp_path: Path, regime: Any, asked: int, made: int) -> None:
    found = load_run(run(tmp_path, regime=regime))
    table = _table(found)
    assert len(asked_cases(found)) == table.cases == asked
    assert edits_made(found) == made
    assert [row.pending for row in table.rows] == [0, 0]
    text = " ".join(_of_run(found, table))
    assert "not yet run" not in text and (f"{made} edits were made; {table.cases}" in text) == (table.cases < made)
    edited = opening(make_section(found, None, None), ()).edited
    assert edited.startswith(f"{made} facts of the split")
    assert (f"{table.cases} of them were asked" in edited) == (table.cases < made)


@pytest.mark.parametrize(
    ("regime", "edited"),
    [
        (UNSAMPLED, 2),
        ({**UNSAMPLED, "score": "end"}, 2),
        ({**UNSAMPLED, "score": "immediate"}, 2),
        ({**UNSAMPLED, "size": [1, 2, 4]}, 4),
    ],
)
def test_cases_after_the_last_length_are_no_work_left(tmp_path: Path, regime: Any, edited: int) -> None:
    """Without a sample the unedited model is asked them, so they stay in the table; no method is waited for."""
    found = load_run(
        run(
            tmp_path,
            regime=regime,
            editors=["none", "push", {"name": "push", "label": "more", "params": {"strength": 6}}],
        )
    )
    table = _table(found)
    assert (len(asked_cases(found)), table.cases, edits_made(found)) == (4, 4, edited)
    assert [(r.finished, r.pending, r.unedited) for r in table.rows] == [(4, 0, 0)] + 2 * [(edited, 0, 4 - edited)]
    text = " ".join(_of_run(found, table))
    assert "not yet run" not in text and ("2 of the 4 cases come after" in text) == (edited < 4)
    assert opening(make_section(found, None, None), ()).edited.startswith(f"{edited} facts of the split")
    assert [row["cases_pending"] for row in flat([table], load_metrics(["es"]))] == [0] + 2 * [4 - edited], (
        "the column stays what it was"
    )


@pytest.mark.parametrize("order", [0, 1], ids=["short first", "long first"])
def test_a_longer_run_beside_a_shorter_one_keeps_its_cases(tmp_path: Path, order: int) -> None:
    short = load_run(run(tmp_path / "short", regime=UNSAMPLED))
    longer = load_run(run(tmp_path / "long", regime={**UNSAMPLED, "size": [1, 2, 4]}))
    (found,) = merge_runs([longer, short] if order else [short, longer])
    assert edits_made(found) == 4 and [(r.pending, r.unedited) for r in _table(found).rows] == [(0, 0), (0, 0)]


def test_seconds_of_an_edit_come_from_where_it_was_made(tmp_path: Path) -> None:
    found = load_run(run(tmp_path))
    assert found.editors[1].folder is not None
    units = found.editors[1].folder.units().values()
    own = {u.case: u for u in units if u.position == u.after}
    again = {u.case: u for u in units if u.after == 4 and u.position != 4}
    assert len(again) == 3 and all(u.seconds_edit == 0 for u in again.values())
    assert all(own[case].seconds_edit > 0 for case in again)
    for case, result in found.editors[1].results.items():
        assert result.seconds_edit == own[case].seconds_edit and result.after == 4
        assert result.answers == (again.get(case) or own[case]).answers, "only what belongs to the edit is taken over"


def test_a_sequence_is_scored_against_the_last_valid_request(tmp_path: Path, caplog: Any) -> None:
    """Peru -> Oslo, then Peru -> Rome: the overwritten edit is in no table and on no curve after that."""
    cases = [make_case("Peru"), make_case("Kenya"), make_case("Peru", new="Rome")]
    cases[2] = cases[2].model_copy(
        update={"key": "case/peru2", "fact": cases[2].fact.model_copy(update={"key": "fact/peru2"})}
    )
    split = make_split("two", cases)
    regime = {"name": "sequential", "size": [1, 2, 3]}
    go(tmp_path / "run", split=split, regime=regime)
    found = load_run(tmp_path / "run")
    order = list(found.cases)
    first, second = sorted(("case/peru", "case/peru2"), key=order.index)
    assert set(asked_cases(found)) == {second, "case/kenya"}
    table = _table(found)
    assert table.cases == 2 and [row.pending for row in table.rows] == [0, 0]
    points = {p.edits: p for p in forgetting_points(found, load_metrics(["es"]), "mean")}
    assert points[3].all.n == 2, "three edits were made, one of them is overwritten"
    path = tmp_path / "split.jsonl"
    write_split(split, path)
    for wanted in (regime, {"name": "batch", "size": 3}, "single"):
        caplog.clear()
        open_plan(make_config(tmp_path / "new", split={"file": str(path)}, editors=["none"], regime=wanted))
        named = [r.getMessage() for r in caplog.records if "contradict each other" in r.getMessage()]
        assert len(named) == (wanted != "single") and all(first in text and second in text for text in named)
