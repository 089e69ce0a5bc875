"""The runner: done once, resumed exactly, failures kept as results, the unedited model first."""

from __future__ import annotations

import time
from typing import Any

import pytest

from evaluation.analysis.comparison import compare, merge_runs
from evaluation.engines.base import JobResult
from evaluation.engines.simple import SimpleEngine
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import score_run
from evaluation.runs.plan import BASELINE
from evaluation.runs.progress import EditorProgress, line
from evaluation.runs.results import load_run
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, answers, go, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of


def test_everything_is_asked_once_and_the_baseline_first(tmp_path):
    outcomes, lm = go(tmp_path)
    assert list(outcomes) == [BASELINE, "push"]
    assert {o.computed for o in outcomes.values()} == {6}
    assert len(lm.calls) == 12
    assert all(len(set(call)) == len(call) for call in lm.calls), "equal probes once a case"
    assert lm.calls[:6] == lm.calls[6:], "every method is asked the same in the same order"


def test_running_again_asks_nothing_and_changes_nothing(tmp_path):
    first, _ = go(tmp_path)
    before = {label: o.folder.journal.read_bytes() for label, o in first.items()}
    repeat, lm = go(tmp_path)
    assert lm.calls == []
    assert {(o.computed, o.resumed) for o in repeat.values()} == {(0, 6)}
    assert {label: o.folder.journal.read_bytes() for label, o in repeat.items()} == before


def test_a_second_method_reuses_the_answers_before(tmp_path):
    go(tmp_path, editors=["push"])
    _, lm = go(tmp_path, editors=["push", {"name": "push", "label": "push harder", "params": {"strength": 9}}])
    assert len(lm.calls) == 6


def test_a_larger_limit_keeps_the_cases_of_a_smaller(tmp_path):
    go(tmp_path, limit=2)
    outcomes, lm = go(tmp_path, limit=5)
    assert (outcomes["push"].resumed, outcomes["push"].computed) == (2, 3)
    assert len(lm.calls) == 6
    assert len(load_run(tmp_path).cases) == 5


def test_a_new_metric_asks_only_what_is_missing(tmp_path):
    go(tmp_path, metrics=["es"])
    outcomes, lm = go(tmp_path, metrics=["es", "ps", "s_es"])
    assert {len(call) for call in lm.calls} == {4}, "two paraphrases and two scripts, not the fact prompt again"
    full_run, _ = go(tmp_path / "whole", metrics=["es", "ps", "s_es"])
    assert answers(outcomes["push"].folder) == answers(full_run["push"].folder)
    assert outcomes["push"].manifest.key == full_run["push"].manifest.key, "metrics are no part of a run's identity"


def test_batch_size_and_device_are_no_part_of_the_identity(tmp_path):
    one, _ = go(tmp_path / "a", engine={"batch_tokens": 64})
    two, _ = go(tmp_path / "b", engine={"batch_tokens": 4096}, device="cpu")
    assert one["push"].manifest == two["push"].manifest
    assert answers(one["push"].folder) == answers(two["push"].folder)


def test_failures_are_results(tmp_path, caplog):
    records = [{"name": "push", "params": {"fail": ["Land01"]}}]
    with caplog.at_level("WARNING"):
        outcomes, _ = go(tmp_path, editors=records)
    assert (outcomes["push"].failed, outcomes["push"].computed, outcomes["push"].stopped) == (1, 6, None)
    assert "failed: RuntimeError: cannot edit Land01 (tests/support/arithmetic.py, line " in caplog.text
    result = outcomes["push"].folder.results()["case/land01"]
    assert result.error.startswith("RuntimeError: cannot edit Land01 (tests/support/arithmetic.py, line ")
    repeat, lm = go(tmp_path, editors=records)
    assert lm.calls == [] and repeat["push"].failed == 1, "a failure is not tried again unasked"


def test_failed_cases_are_in_no_mean_and_counted(tmp_path):
    go(tmp_path, editors=[{"name": "push", "params": {"fail": ["Land01"]}}])
    run, metrics = load_run(tmp_path), load_metrics(["es"])
    row = compare(run, score_run(run, metrics, "mean"), metrics)[0].rows[1]
    assert (row.finished, row.failed, row.pending, row.summaries["es"].cases) == (5, 1, 0, 5)


def test_retry_failed_repeats_failures_only(tmp_path):
    class Moody(ArithmeticEditor):
        healed = False

        def edit(self, requests):
            if not Moody.healed and requests[0].subject.text == "Land02":
                raise MemoryError("too little")
            return super().edit(requests)

    def run(**more: Any):
        lm = ArithmeticLM()
        config = make_config(tmp_path)
        return runner_of(config, make_cases(), scorer=lm, make=lambda n, p: Moody(n, p), **more).run()[1], lm

    first, _ = run()
    assert first.folder.results()["case/land02"].error.startswith("MemoryError: too little (tests/")
    Moody.healed = True
    assert run()[1].calls == []
    healed, lm = run(retry_failed=True)
    assert (healed.failed, healed.computed, len(lm.calls)) == (0, 1, 2), "the baseline failed there too"
    clean, _ = go(tmp_path / "clean")
    assert answers(healed.folder) == answers(clean["push"].folder)


def test_too_many_failures_stop_that_method_only(tmp_path):
    split = make_cases(30, 0)
    fail = [c.fact.subject.text for c in split.cases]
    editors = [{"name": "push", "label": "bad", "params": {"fail": fail}}, "push"]
    outcomes, _ = go(tmp_path, split=split, editors=editors)
    assert outcomes["bad"].stopped == "10 of 10 cases failed"
    assert outcomes["bad"].computed == 10
    assert (outcomes["push"].computed, outcomes["push"].failed) == (30, 0)
    repeat, _ = go(tmp_path, split=split, editors=editors)
    assert repeat["bad"].computed == 0, "it does not dig on by ten at a time"


def test_an_exception_leaves_the_model_as_it_was(tmp_path):
    class Broken(ArithmeticLM):
        def score(self, probes, **more):
            if self.lift:
                raise ValueError("no")
            return super().score(probes, **more)

    lm = Broken()
    outcomes, _ = go(tmp_path, lm=lm)
    assert lm.lift == {}
    assert outcomes["push"].failed == 6 and outcomes[BASELINE].failed == 0


def test_progress_counts(tmp_path):
    events: list[EditorProgress] = []
    go(tmp_path, limit=3, events=events)
    push = [e for e in events if e.label == "push"]
    assert [e.done for e in push] == [0, 1, 2, 3]
    assert push[0].note == "preparing"
    events.clear()
    go(tmp_path, limit=3, events=events)
    assert [(e.label, e.done, e.resumed) for e in events] == [(BASELINE, 3, 3), ("push", 3, 3)]


def test_pace_of_cases_made_together_is_each_ones_share(tmp_path):
    """Four cases of 100 s in all are told at once: a case takes 25 s, not 100."""

    class Together(SimpleEngine):
        def work(self, editor, jobs):
            self.on_stage("editing 4 cases", 0.0)
            for job in jobs:
                yield JobResult(job, self.ask(job.probes), seconds_edit=20.0, seconds_score=5.0)

        def ask(self, probes):
            return ArithmeticLM().score(probes)

    clock = iter([0.0, *[100.0] * 100])
    events: list[EditorProgress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluation.runs.progress.time.perf_counter", lambda: next(clock))
        config = make_config(tmp_path, editors=["push"], limit=4)
        engine = Together(ArithmeticLM(), batch_tokens=64)
        cases, make = make_cases(4, 0), ArithmeticEditor
        runner_of(config, cases, scorer=ArithmeticLM(), make=make, on_event=events.append, engine=engine).run()
    first = [e for e in events if e.label == BASELINE and e.done]
    assert ["push", "editing 4 cases"] in [[e.label, e.note] for e in events], "before any of them is told"
    assert [e.seconds for e in first] == [25.0, 50.0, 75.0, 100.0]
    assert line(first[0]) == "none: 1 of 4 cases, 25.0 s a case, 75 s left"


def test_prepared_once_and_not_at_all_when_nothing_is_left(tmp_path):
    items: list[ArithmeticEditor] = []

    def make(name, params):
        items.append(ArithmeticEditor(name, params))
        return items[-1]

    for _ in range(2):
        runner_of(make_config(tmp_path), make_cases(), scorer=ArithmeticLM(), make=make).run()
    assert [e.prepared for e in items] == [1, 1, 0, 0]


def test_costs_are_recorded(tmp_path):
    class Slow(ArithmeticLM):
        def score(self, probes, **more):
            time.sleep(0.02)
            return super().score(probes, **more)

    outcomes, _ = go(tmp_path, lm=Slow(), limit=2)
    for result in outcomes["push"].folder.results().values():
        assert result.seconds_score >= 0.02 > result.seconds_edit >= 0
        assert result.peak_bytes > 10_000_000


def test_merge_brings_runs_together_and_the_baseline_once(tmp_path):
    go(tmp_path / "a")
    go(tmp_path / "b", editors=[{"name": "push", "params": {"strength": 9}}], limit=3)
    (run,) = merge_runs([load_run(tmp_path / "a"), load_run(tmp_path / "b")])
    labels = [e.label for e in run.editors]
    assert labels[:2] == [BASELINE, "push"] and labels[2].startswith("push (") and len(labels) == 3
    assert [len(e.results) for e in run.editors] == [6, 6, 3]
    go(tmp_path / "c", lm=ArithmeticLM(revision="2"))
    assert len(merge_runs([load_run(tmp_path / x) for x in "abc"])) == 2
