"""All figures of a run on events come from one place."""

from __future__ import annotations

from evaluation.analysis.comparison import Scores
from evaluation.analysis.events.by_questions import by_questions
from evaluation.analysis.events.figures import event_analysis
from evaluation.metrics.base import Metric
from evaluation.metrics.events.facts import EventFactWhole
from tests.support.evaluation.event_answers import said
from tests.support.evaluation.event_runs import event_run
from tests.support.events import event_case, make_fact_question


def test_the_figures_are_those_of_their_modules() -> None:
    question = make_fact_question()
    case = event_case("case/1", facts=(question,))
    run = event_run([case], {"a": {case.key: (said(question, "Alba Rail"), None)}})
    metrics: list[Metric] = [EventFactWhole()]
    score = metrics[0].score(case, said(question, "Alba Rail"), {}, "mean")
    scores = Scores({"a": {metrics[0].name: {case.key: score}}})
    figures = event_analysis(run, scores, metrics)
    assert figures.by_questions == tuple(by_questions(run, scores, metrics)) and len(figures.by_questions) == 1
    assert figures.open_answers == ()
