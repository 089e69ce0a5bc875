"""Curves for the report: one a metric and method, over what was asked, beside the same cases on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.analysis.forgetting_curve import forgetting_curve
from evaluation.analysis.forgetting_series import forgetting_series
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from schemas.runs import CaseResult
from tests.support.arithmetic import make_cases, unfinish
from tests.support.report.fading import SEQUENCE, run
from tests.support.report.read_report import finished
from tests.support.report.two_runs import TWO


def test_the_report_shows_the_same_curve(tmp_path: Path) -> None:
    points = forgetting_curve(load_run(run(tmp_path)), load_metrics(["es"]), "mean")
    (series,) = forgetting_series(load_run(tmp_path), load_metrics(["es"]), "mean")
    assert [(s.edits, s.value) for s in series.curves[0].spots] == [(p.edits, p.all) for p in points]
    assert [(s.edits, s.value) for s in series.curves[0].at_once] == [(p.edits, p.new) for p in points]


@pytest.mark.parametrize("regime", ["single", {"name": "batch", "size": 2}])
def test_edits_that_do_not_follow_each_other_have_no_curve(regime: Any, tmp_path: Path) -> None:
    assert forgetting_series(load_run(run(tmp_path, regime=regime)), load_metrics(["es"]), "mean") == []


def test_the_curve_is_worked_by_hand(tmp_path: Path) -> None:
    """Methods in their order; values over all cases so far, and over the same ones right after their edits."""
    regime = {"name": "sequential", "size": [1, 2, 5], "score": "both"}
    sequence = finished(tmp_path, editors=TWO, split=make_cases(5, 0), regime=regime)
    run, metrics = load_run(sequence), load_metrics(["s_es"])
    (series,) = forgetting_series(run, metrics, "mean")
    assert [c.label for c in series.curves] == ["push", "weak"]
    push = series.curves[0]
    assert [s.edits for s in push.spots] == [1, 2, 5] and [s.value.n for s in push.spots] == [1, 2, 5]
    units = next(e for e in run.editors if e.label == "push").folder.units().values()
    cases = {c.key: c for c in run.split.cases}

    def mean(unit: CaseResult) -> float:
        return metrics[0].score(cases[unit.case], {a.probe: a for a in unit.answers}, {}, "mean").mean

    late = [mean(u) for u in units if u.after == 5]
    first = [mean(u) for u in units if u.position == u.after]
    assert push.spots[-1].value.mean == pytest.approx(sum(late) / 5)
    assert push.at_once[-1].value.mean == pytest.approx(sum(first) / 5)
    assert forgetting_series(run._replace(about={**run.about, "regime": "single"}), metrics, "mean") == []


def test_a_length_half_asked_is_left_out(tmp_path: Path) -> None:
    (journal,) = [j for j in run(tmp_path).glob("*/journal.jsonl") if '"after":4' in j.read_text().replace(" ", "")]
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    unfinish(tmp_path)
    (series,) = forgetting_series(load_run(tmp_path), load_metrics(["es"]), "mean")
    assert [s.edits for s in series.curves[0].spots] == [1, 2]


def test_what_was_not_asked_on_the_spot_is_not_drawn_as_if_it_was(tmp_path: Path) -> None:
    """Scored at the lengths only, most cases have no value right after their own edit: no dashed line there."""
    (series,) = forgetting_series(
        load_run(run(tmp_path, regime={**SEQUENCE, "score": "end"})), load_metrics(["es"]), "mean"
    )
    (push,) = series.curves
    assert [s.edits for s in push.spots] == [1, 2, 4]
    assert [s.edits for s in push.at_once] == [1, 2], "at four edits one case of the four was not asked on the spot"


def test_a_sequence_of_one(tmp_path: Path) -> None:
    (series,) = forgetting_series(
        load_run(run(tmp_path, limit=1, regime={**SEQUENCE, "size": [1]})), load_metrics(["es"]), "mean"
    )
    ((spot,),) = [c.spots for c in series.curves]
    assert (spot.edits, spot.value.mean, spot.value.half, spot.value.n) == (1, 1.0, None, 1)
    assert series.curves[0].at_once == (spot,)


def test_metrics_without_a_value_have_no_curve(tmp_path: Path) -> None:
    """The cases have no temporal neighbour, so bleed-over asks nothing of them."""
    metrics = load_metrics(["es", "s_bo"])
    out = finished(tmp_path, metrics=["es", "s_bo"], regime=SEQUENCE, split=make_cases(4, 0))
    series = forgetting_series(load_run(out), metrics, "mean")
    assert [(f.metric, f.better) for f in series] == [(metrics[0].title, metrics[0].better)]
    assert forgetting_series(load_run(out), [], "mean") == []


def test_a_method_that_has_not_begun_has_no_curve(tmp_path: Path) -> None:
    out = finished(tmp_path, editors=TWO, split=make_cases(4, 0), regime=SEQUENCE, metrics=["es"])
    (weak,) = out.glob("weak-*")
    (weak / "journal.jsonl").unlink()
    unfinish(out)
    (series,) = forgetting_series(load_run(out), load_metrics(["es"]), "mean")
    assert [c.label for c in series.curves] == ["push"]
