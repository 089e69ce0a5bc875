"""Events and questions about them for tests: one maker each, any field of which can be replaced."""

from __future__ import annotations

from typing import Any

from schemas.cases import EventCase
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from tests.support.facts import SOURCE

MERGER = "e/merger"
MOVE = "e/move"


def make_event(key: str = MERGER, text: str = "Alba Rail merged with Brenta Rail.", **changes: Any) -> Event:
    """A merger, written by a person."""
    fields = {"key": key, "text": text, "type": "merger", "origin": "written", "source": SOURCE}
    return Event.model_validate({**fields, **changes})


def make_fact_question(
    text: str = "Which company runs Brenta Rail?", answer: str = "Alba Rail", *, event: str = MERGER, **changes: Any
) -> FactQuestion:
    """A question in scope about the merger."""
    fields = {
        "key": f"{event}/fact/{text.replace(' ', '-')}",
        "event": event,
        "text": text,
        "relation": {"id": "P127"},
        "answer": {"text": answer},
        "scope": "in",
    }
    return FactQuestion.model_validate({**fields, **changes})


def make_tendency(
    text: str = "How may ticket prices change?", answer: str = "A", *, event: str = MERGER, **changes: Any
) -> TendencyQuestion:
    """A question in scope about what is likely after the merger."""
    fields = {
        "key": f"{event}/tendency/{text.replace(' ', '-')}",
        "event": event,
        "text": text,
        "options": ("They rise", "They fall", "They stay as they are"),
        "answer": answer,
        "scope": "in",
    }
    return TendencyQuestion.model_validate({**fields, **changes})


def event_records() -> list[Event | FactQuestion | TendencyQuestion]:
    """Two events: a merger with both kinds of questions in and out of scope, a move with one question."""
    return [
        make_event(),
        make_fact_question(),
        make_fact_question("Who leads Brenta Rail?", "unknown"),
        make_fact_question("Where was Alba Rail founded?", "Genoa", scope="out"),
        make_tendency(),
        make_tendency("How may rainfall in Genoa change?", "C", scope="out"),
        make_event(MOVE, "Corvo Foods moved to Turin.", type="headquarters"),
        make_fact_question("Where is Corvo Foods?", "Turin", event=MOVE),
    ]


def event_case(key: str = "case/e/merger", **changes: Any) -> EventCase:
    """The merger with its questions."""
    records = [r for r in event_records() if getattr(r, "event", r.key) == MERGER]
    fields = {
        "key": key,
        "event": records[0],
        "facts": tuple(r for r in records if isinstance(r, FactQuestion)),
        "tendencies": tuple(r for r in records if isinstance(r, TendencyQuestion)),
    }
    return EventCase.model_validate({**fields, **changes})
