"""Factual metrics on a case worked by hand."""

from __future__ import annotations

import pytest

from evaluation.metrics.events import (
    EventBackground,
    EventFact,
    EventFactLocality,
    EventFactWhole,
    EventKnown,
    EventPlain,
    EventRecall,
    EventUnknown,
)
from evaluation.metrics.generation import EventChoice, Generation
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


BRENTA = {"text": "In which league does Brenta play?", "answer": {"text": "Second League", "aliases": ["League Two"]}}
COUNTRY = {"text": "In which country is the Second League?", "answer": {"text": "Peru"}}
LEAGUE = make_fact_question("In which league is Ana?", "Second League", background=True, background_questions=[BRENTA])
NATION = make_fact_question("Where does Ana play?", "Peru", background=True, background_questions=[BRENTA, COUNTRY])
GONE_BRENTA = make_fact_question("Who coaches Ana?", "unknown", background=True, background_questions=[COUNTRY])


def test_recall_is_what_the_unedited_model_knows_and_a_shared_question_is_asked_once() -> None:
    metric, case = EventRecall(), event_case(facts=(LEAGUE, NATION, GONE_BRENTA, STAYS))
    first, second = metric.questions(case)
    assert [q.text for q in (first, second)] == [BRENTA["text"], COUNTRY["text"]]
    assert [q.key for q in (first, second)] == [f"{LEAGUE.key}/background/1", f"{NATION.key}/background/2"]
    before = said(first, "league two.") | said(second, "Chile")
    edited = said(first, "Ana Roe") | said(second, "Peru")
    score = metric.score(case, edited, before, "mean")
    assert [i.value for i in score.items] == [1.0, 0.0], "what the edited model says does not count"
    (known, lost) = metric.score(case, edited, said(first, "League Two"), "mean").items
    assert (known.value, lost.value, lost.reason) == (1.0, None, "no answer")
    summary = metric.summarise([score, metric.score(ONE, edited, before, "mean")])
    assert (summary.mean, summary.items, summary.cases, summary.level) == (0.5, 2, 1, "question")


def test_questions_without_background_questions_are_in_no_recall() -> None:
    assert EventRecall().questions(ONE) == [] and EventRecall().probes(ONE) == []
