"""Routing read back from what the model was given, counted by hand."""

from __future__ import annotations

import pytest

from evaluation.analysis.events.routing import RoutingCounts, routings
from tests.support.evaluation.event_answers import prefers, said
from tests.support.evaluation.event_runs import event_run
from tests.support.events import MOVE, event_case, make_event, make_fact_question, make_tendency

MERGER = event_case()
OUTSIDE = make_tendency("How may rain change?", "C", event=MOVE, scope="out")
MOVED = event_case(
    "case/e/move",
    event=make_event(MOVE, "Corvo Foods moved to Turin."),
    facts=(make_fact_question("Where is Corvo?", "Turin", event=MOVE),),
    tendencies=(OUTSIDE,),
)
ANSWERS = {
    case.key: {k: a for q in case.facts for k, a in said(q, "x").items()}
    | {k: a for q in case.tendencies for k, a in prefers(q, "A").items()}
    for case in (MERGER, MOVED)
}


def mentions(word: str, text: str):  # type: ignore[no-untyped-def]
    return lambda prompt: f"Event: {text}\n{prompt}" if word in prompt else prompt


def test_right_another_and_no_event() -> None:
    """The merger's event is found wherever Brenta is named; Corvo's questions all get the merger's."""
    text = MERGER.event.text
    found = {
        MERGER.key: (ANSWERS[MERGER.key], mentions("Brenta", text)),
        MOVED.key: (ANSWERS[MOVED.key], mentions("", text)),
    }
    plain = {key: (answers, None) for key, answers in ANSWERS.items()}
    facts, tendencies = routings(event_run([MERGER, MOVED], {"none": plain, "bm25": found}))
    assert (facts.label, facts.kind, tendencies.kind) == ("bm25", "facts", "tendencies")
    # in scope: "runs Brenta", "leads Brenta" right, "Where is Corvo" another; out of scope: Genoa without any
    assert (facts.inside, facts.outside) == (RoutingCounts(2, 1, 0), RoutingCounts(0, 0, 1))
    assert facts.accuracy.mean == pytest.approx(3 / 4) and facts.accuracy.n == 2
    # ticket prices and the merger's rain without any; the move's rain, out of scope, with the merger
    assert (tendencies.inside, tendencies.outside) == (RoutingCounts(0, 0, 1), RoutingCounts(0, 1, 1))
    assert tendencies.accuracy.mean == pytest.approx(1 / 3) and tendencies.inside.questions == 1


def test_questions_that_were_not_asked_are_not_counted_and_a_method_that_puts_nothing_is_left_out() -> None:
    some = {k: a for k, a in ANSWERS[MERGER.key].items() if k in said(MERGER.facts[0], "x")}
    run = event_run([MERGER], {"ft_lm": {MERGER.key: (some, None)}, "ice": {MERGER.key: (some, mentions("", "x"))}})
    (only,) = routings(run)
    assert (only.label, only.inside, only.outside.questions) == ("ice", RoutingCounts(0, 1, 0), 0)
