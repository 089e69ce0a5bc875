"""Factual metrics on a case worked by hand."""

from __future__ import annotations

import pytest

from evaluation.metrics.event_choice import EventChoice
from evaluation.metrics.events.facts import (
    EventBackground,
    EventFact,
    EventFactLocality,
    EventFactWhole,
    EventKnown,
    EventPlain,
    EventUnknown,
)
from evaluation.metrics.generation import Generation
from tests.support.evaluation.event_answers import said
from tests.support.events import event_case, make_fact_question

RUNS = make_fact_question()
GONE = make_fact_question("Who leads Brenta Rail?", "unknown")
FAR = make_fact_question("In which league is it?", "First Division", background=True)
GONE_FAR = make_fact_question("Who leads its league?", "unknown", background=True)
STAYS = make_fact_question("Where was Alba Rail founded?", "Genoa", scope="out")
STAYS_TOO = make_fact_question("When was it founded?", "1900", scope="out")
ONE = event_case(facts=(RUNS, GONE, FAR, GONE_FAR, STAYS, STAYS_TOO))
TWO = event_case("case/two", facts=(RUNS,))
OUTSIDE = event_case("case/outside", facts=(STAYS,))
SAID = said(RUNS, "Alba Rail") | said(GONE, "unknown") | said(FAR, "Second Division") | said(GONE_FAR, "nobody")
AFTER = SAID | said(STAYS, " genoa.") | said(STAYS_TOO, "1901")
BEFORE = said(STAYS, "Genoa") | said(STAYS_TOO, "1900")


@pytest.mark.parametrize(
    ("metric", "mean", "questions", "cases"),
    [
        # two of four right in the first case, one of one in the second
        (EventFact, 3 / 5, 5, 2),
        (EventKnown, 2 / 3, 3, 2),
        (EventUnknown, 1 / 2, 2, 1),
        (EventBackground, 0.0, 2, 1),
        (EventPlain, 1.0, 3, 2),
        (EventFactWhole, 1 / 2, 2, 2),
        # in both cases with questions out of scope Genoa stays; 1900 became 1901
        (EventFactLocality, 2 / 3, 3, 2),
    ],
)
def test_worked_by_hand(metric: type[EventFact], mean: float, questions: int, cases: int) -> None:
    instance = metric()
    score = instance.summarise([instance.score(case, AFTER, BEFORE, "mean") for case in (ONE, TWO, OUTSIDE)])
    assert (score.mean, score.items, score.cases) == (pytest.approx(mean), questions, cases)
    assert score.level == ("case" if metric is EventFactWhole else "question")
    assert instance.score(OUTSIDE, AFTER, BEFORE, "sum").items == () or metric is EventFactLocality


def test_a_whole_event_is_lost_with_one_wrong_answer_and_unscored_while_that_is_open() -> None:
    metric, answers = EventFactWhole(), said(RUNS, "Alba Rail") | said(GONE, "unknown")
    case = event_case(facts=(RUNS, GONE, STAYS))
    (full_score,) = metric.score(case, answers, {}, "mean").items
    assert full_score.value == 1.0, "what is out of scope is not asked for"
    (items,) = metric.score(case, said(RUNS, "Alba Rail"), {}, "mean").items
    assert (items.value, items.reason) == (None, "no answer")
    (wrong,) = metric.score(case, said(RUNS, "Brenta"), {}, "mean").items
    assert wrong.value == 0.0, "the missing answer cannot mend it"


def test_locality_needs_both_answers() -> None:
    (one,) = EventFactLocality().score(OUTSIDE, AFTER, {}, "mean").items
    assert (one.value, one.reason) == (None, "before the edit: no answer")


def test_unknown_is_read_as_the_run_says() -> None:
    generation = Generation(events=EventChoice(unknown="anywhere"))
    answers = said(GONE, "the unknown soldier", generation.events)
    case = event_case(facts=(GONE,))
    assert [m.score(case, answers, {}, "mean").mean for m in (EventUnknown(generation), EventUnknown())] == [1.0, 0.0]
