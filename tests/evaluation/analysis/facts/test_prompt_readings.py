"""One prompt read in every way that the run asked it, and only so."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.facts.prompt_readings import prompt_readings
from evaluation.runs.generated_scripts import generation_of
from tests.support.report.texts_run import finished

ALL = ["es", "es_argmax", "es_gen", "ns", "ns_argmax", "ns_gen"]


def test_everything_that_was_asked_is_read_of_finished_cases(tmp_path: Path) -> None:
    run = finished(tmp_path, ALL)
    generation = generation_of(run)
    for editor in run.editors:
        readings = prompt_readings(run, editor, "fact", generation, "mean")
        assert [r.case for r in readings] == list(run.cases) and all(r.complete for r in readings)
        assert {r.answer.first for r in readings if r.answer} == {"neither"}, "the first line packs clothes"
        near = prompt_readings(run, editor, "neighbour", generation, "mean")
        assert near and all(r.complete and r.prompt.cluster for r in near)
        assert prompt_readings(run, editor, "paraphrase", generation, "mean")[0].complete is False


def test_a_neighbour_prefers_the_old_object(tmp_path: Path) -> None:
    run = finished(tmp_path, ["ns"])
    none, push = (prompt_readings(run, e, "neighbour", generation_of(run), "mean") for e in run.editors)
    assert sum(bool(r.preferred) for r in none) > sum(bool(r.preferred) for r in push)
    assert {r.answer for r in none} == {None} == {r.matched for r in none}
