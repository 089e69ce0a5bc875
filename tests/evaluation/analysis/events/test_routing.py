"""Routing read back from what the model was given, counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.support.routing_counts import routings_by
from evaluation.analysis.events.routing import RoutingCounts, routing_of, routings
from schemas.events.questions import SCOPE_LISTS
from tests.support.evaluation.event_answers import prefers, said, wrote
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
    by_name = {
        MERGER.key: (ANSWERS[MERGER.key], mentions("Brenta", text)),
        MOVED.key: (ANSWERS[MOVED.key], mentions("", text)),
    }
    plain = {key: (answers, None) for key, answers in ANSWERS.items()}
    facts, tendencies = routings(event_run([MERGER, MOVED], {"none": plain, "bm25": by_name}))
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


def test_questions_that_were_only_asked_openly_are_counted() -> None:
    """A run of open questions alone: the merger's own question with its event, the move's with the merger's."""
    text = MERGER.event.text
    by_name = {
        case.key: ({k: a for q in case.tendencies for k, a in wrote(q, "Prices rise.").items()}, mentions("", text))
        for case in (MERGER, MOVED)
    }
    (only,) = routings(event_run([MERGER, MOVED], {"ice": by_name}))
    assert (only.kind, only.inside, only.outside) == ("tendencies", RoutingCounts(1, 0, 0), RoutingCounts(1, 1, 0))


def test_a_router_is_counted_over_all_events_without_a_model() -> None:
    """Everything about Brenta goes to the merger, everything else nowhere; kinds are told apart."""
    requests: list[str] = []

    def route(question: str, kind: str) -> int | None:
        requests.append(kind)
        return 0 if "Brenta" in question else None

    facts, tendencies = routings_by("mine", [MERGER, MOVED], route)
    assert (facts.inside, facts.outside) == (RoutingCounts(2, 0, 1), RoutingCounts(0, 0, 1))
    assert facts.accuracy.mean == pytest.approx(3 / 4) and tendencies.accuracy.mean == pytest.approx(2 / 3)
    assert requests == ["facts"] * 4 + ["tendencies"] * 3
    assert routings_by("mine", [], route) == []


@pytest.mark.parametrize(
    ("kind", "prefix", "accuracy", "inner", "outer"),
    [
        ("facts", "", 0.687, (0.420, 0.027, 0.554), 0.983),
        ("tendencies", "", 0.539, (0.448, 0.217, 0.335), 0.920),
        ("tendencies", "e5_", None, (0.461, 0.539, 0.0), 0.0),
    ],
)
def test_the_released_routing(
    shared: Path,
    kind: str,
    prefix: str,
    accuracy: float | None,
    inner: tuple[float, ...],
    outer: float,
) -> None:
    """What the authors' SERAC and E5 did, counted from the file that says where each question was sent."""
    file = shared / "data" / "elken" / "serac_routing.jsonl"
    if not file.is_file():
        pytest.skip("the released routing of ELKEN is not here (set SCEDIT_SHARED)")
    field = prefix + {"facts": "fact", "tendencies": "tendency"}[kind]
    rows = [json.loads(line).get(field) for line in file.read_text(encoding="utf-8").splitlines()]
    lists = ((SCOPE_LISTS[name], value) for row in rows if row for name, value in row.items())
    events = [[(scope, to) for to in value] for scope, value in lists]
    routing = routing_of("released", kind, events)
    questions = routing.inside.questions
    if accuracy is not None:
        assert routing.accuracy.mean == pytest.approx(accuracy, abs=0.0006)
    assert tuple(n / questions for n in routing.inside) == pytest.approx(inner, abs=0.006 if prefix else 0.0006)
    assert routing.outside.none / max(routing.outside.questions, 1) == pytest.approx(outer, abs=0.0006)
