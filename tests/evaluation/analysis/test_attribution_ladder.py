"""The attribution ladder and the figures over texts, worked by hand and on a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.analysis.attribution_ladder import attribution_stages, known_cases, stage_breakdowns
from evaluation.metrics import METRICS
from tests.support.report.texts_run import TEXTS, _Elsewhere, finished


def test_stages_by_hand() -> None:
    """Four cases: three pass ES; of these one fails PS, and the one that failed ES passes PS."""
    steps = [
        ("es", "ES", {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}),
        ("ps", "PS", {"a": 1.0, "b": 0.5, "c": 1.0, "d": 1.0}),
    ]
    first, second = attribution_stages(steps)
    assert (first.rate.mean, first.passed, first.drop, first.lost, first.gained) == (0.75, 3, None, None, None)
    assert (second.rate.mean, second.passed) == (0.875, 3), "half of the prompts is not a pass"
    assert second.drop is not None and second.drop.mean == pytest.approx(0.125)
    assert second.lost is not None and (second.lost.value, second.lost.n) == (pytest.approx(1 / 3), 3)
    assert second.gained is not None and (second.gained.value, second.gained.n) == (1.0, 1)


def test_a_run_is_followed_through_all_stages_on_the_same_cases(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", "ps", "s_es", *TEXTS])
    (overall,) = stage_breakdowns(run, known="all")
    assert overall.label == "push" and overall.cases == 6
    assert [r.metric for r in overall.stages] == ["es", "ps", "s_es", "s_es_gen"]
    (breakdowns,) = stage_breakdowns(run, known="preferred")
    assert breakdowns.cases == len(known_cases(run, "preferred")) < 6
    assert all(r.rate.n == breakdowns.cases for r in breakdowns.stages)
    record = {"push": dict.fromkeys(run.cases[:4], 7.0)}
    (breakdown,) = stage_breakdowns(run, known="all", coherence=record, rater="ann")
    assert breakdown.cases == 4 and breakdown.stages[-1].title == "Coherence above 4, ann"
    assert breakdown.stages[-1].rate.mean == 1.0


def test_a_text_that_names_neither_object_does_not_reach_the_last_stage(tmp_path: Path) -> None:
    """The rubric gives it 3 of 7, which used to count as a third of a success: a null method gained by it."""
    run = finished(tmp_path, ["es", *TEXTS])
    for value, want in ((3.0, 0.0), (4.0, 0.0), (5.0, 1.0)):
        (breakdown,) = stage_breakdowns(run, known="all", coherence={"push": dict.fromkeys(run.cases, value)})
        last = breakdown.stages[-1]
        assert (last.rate.mean, last.passed) == (want, want * len(run.cases))
        assert last.lost is not None and last.gained is not None and last.lost.n + last.gained.n == len(run.cases)


def test_a_stage_without_values_is_left_out(tmp_path: Path) -> None:
    (only,) = stage_breakdowns(finished(tmp_path, ["es"]), known="all")
    assert [r.metric for r in only.stages] == ["es"]


def test_a_stage_is_found_by_its_role_whatever_the_metric_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metric of somebody else's with the role of a stage stands there in place of ours, where the run names it."""
    run = finished(tmp_path, ["s_flip_rate", "ns", "es"])
    assert [r.metric for r in stage_breakdowns(run, known="all")[0].stages] == ["es", "s_es"], (
        "S-flip asks what S-ES asks"
    )
    monkeypatch.setattr(METRICS.get("s_flip_rate"), "role", "efficacy")
    (breakdown,) = stage_breakdowns(run, known="all")
    assert [r.metric for r in breakdown.stages] == ["s_flip_rate", "s_es"]


def test_known_is_what_the_unedited_model_names(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", *TEXTS])
    assert known_cases(run, "named") == set(run.cases), "it writes Lima everywhere"
    wrong = finished(tmp_path / "rome", ["es", *TEXTS], lm=_Elsewhere())
    assert known_cases(wrong, "named") == set()
