"""The attribution ladder and the figures over texts, worked by hand and on a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.analysis.attribution_ladder import known_cases, stage_change, stage_tables, stage_values
from evaluation.metrics import METRICS
from tests.support.report.texts_run import TEXTS, _Elsewhere, finished


def test_a_change_by_hand() -> None:
    """Four cases: three pass ES; of these one fails PS, and the one that failed ES passes PS."""
    change, lost, gained = stage_change(
        {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}, {"a": 1.0, "b": 0.5, "c": 1.0, "d": 1.0}
    )
    assert change.mean == pytest.approx(0.125)
    assert (lost.mean, lost.n) == (pytest.approx(1 / 3), 3), "half of the prompts is not a pass"
    assert (gained.mean, gained.n) == (1.0, 1)


def test_a_run_is_followed_through_all_stages_on_the_same_cases(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", "ps", "s_es", *TEXTS])
    overall = stage_values(run, known="all")
    assert list(overall) == ["push"] and list(overall["push"]) == ["ES", "PS", "S-ES", "S-ES-gen"]
    assert {len(values) for values in overall["push"].values()} == {6}
    preferred = stage_values(run, known="preferred")["push"]
    assert {tuple(values) for values in preferred.values()} == {tuple(sorted(known_cases(run, "preferred")))}
    assert len(known_cases(run, "preferred")) < 6
    record = {"push": dict.fromkeys(run.cases[:4], 7.0)}
    rated = stage_values(run, known="all", coherence=record, rater="ann")["push"]
    assert list(rated["Coherence above 4, ann"].values()) == [1.0] * 4
    tables = stage_tables(run, coherence=record, rater="ann")
    assert [t.folded for t in tables[:2]] == [False, True] and len(tables[1].rows) == 4
    assert all(len(row) == len(t.head) for t in tables for row in t.rows)


def test_a_text_that_names_neither_object_does_not_reach_the_last_stage(tmp_path: Path) -> None:
    """The rubric gives it 3 of 7, which used to count as a third of a success: a control method gained by it."""
    run = finished(tmp_path, ["es", *TEXTS])
    for value, want in ((3.0, 0.0), (4.0, 0.0), (5.0, 1.0)):
        stages = stage_values(run, known="all", coherence={"push": dict.fromkeys(run.cases, value)})["push"]
        assert set(stages["Coherence above 4"].values()) == {want}


def test_a_stage_is_found_by_its_role_whatever_the_metric_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metric of somebody else's with the role of a stage is used instead of ours, where the run names it."""
    alone = stage_values(finished(tmp_path / "es", ["es"]), known="all")["push"]
    assert list(alone) == ["ES"], "no stage without values"
    run = finished(tmp_path, ["s_flip_rate", "ns", "es"])
    assert list(stage_values(run, known="all")["push"]) == ["ES", "S-ES"], "S-flip asks what S-ES asks"
    monkeypatch.setattr(METRICS.get("s_flip_rate"), "role", "efficacy")
    assert list(stage_values(run, known="all")["push"]) == ["S-flip", "S-ES"]


def test_known_is_what_the_unedited_model_names(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", *TEXTS])
    assert known_cases(run, "named") == set(run.cases), "it writes Lima everywhere"
    wrong = finished(tmp_path / "rome", ["es", *TEXTS], lm=_Elsewhere())
    assert known_cases(wrong, "named") == set()
