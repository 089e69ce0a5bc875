"""Whole events by the number of their questions."""

from __future__ import annotations

from evaluation.analysis.comparison import Scores
from evaluation.analysis.events.by_questions import by_questions
from evaluation.metrics.base import Metric
from evaluation.metrics.events.facts import EventFact, EventFactWhole
from tests.support.evaluation.event_answers import said
from tests.support.evaluation.event_runs import event_run
from tests.support.events import event_case, make_fact_question

RUNS, GONE = make_fact_question(), make_fact_question("Who leads it?", "unknown")
ONE, TWO = event_case("case/1", facts=(RUNS,)), event_case("case/2", facts=(RUNS, GONE))
ALSO, NONE = event_case("case/3", facts=(RUNS,)), event_case("case/4", facts=())


def test_events_are_grouped_by_how_many_questions_the_metric_asks() -> None:
    right, wrong = said(RUNS, "Alba Rail") | said(GONE, "Ada"), said(RUNS, "Brenta") | said(GONE, "unknown")
    answers = {ONE.key: right, TWO.key: right, ALSO.key: wrong, NONE.key: right}
    run = event_run([ONE, TWO, ALSO, NONE], {"a": {k: (a, None) for k, a in answers.items()}, "b": {}})
    metrics: list[Metric] = [EventFactWhole(), EventFact()]
    cases = {c.key: c for c in (ONE, TWO, ALSO, NONE)}
    scores = Scores(
        {
            label: {m.name: {k: m.score(cases[k], answers[k], {}, "mean") for k in e.results} for m in metrics}
            for label, e in ((e.label, e) for e in run.editors)
        }
    )
    first, second = by_questions(run, scores, metrics)
    assert (first.metric, first.questions, first.events) == ("Facts, whole event", 1, 2)
    assert (first.values["a"].mean, first.values["a"].n, first.values["b"].mean) == (0.5, 2, None)
    assert (second.questions, second.events, second.values["a"].mean) == (2, 1, 0.0)
