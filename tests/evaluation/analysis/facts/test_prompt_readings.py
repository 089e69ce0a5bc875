"""One prompt read in every way that the run asked it, and only so."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.comparison import score_run
from evaluation.analysis.facts.prompt_readings import prompt_readings
from evaluation.metrics.fact_texts.probes import PLACES
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.plan import load_metrics
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


def test_what_is_preferred_is_what_the_metrics_say(tmp_path: Path) -> None:
    run, metrics = finished(tmp_path, ["es", "ps", "ns"]), load_metrics(["es", "ps", "ns"])
    scores = score_run(run, metrics, "mean")
    for editor in run.editors:
        for place, metric in zip(PLACES, metrics, strict=True):
            readings = prompt_readings(run, editor, place, generation_of(run), "mean")
            items = [i.value for s in scores.by_editor[editor.label][metric.name].values() for i in s.items]
            assert [float(bool(r.preferred)) for r in readings] == items and items
            assert {r.answer for r in readings} == {None} == {r.matched for r in readings}
