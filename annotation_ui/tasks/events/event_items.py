"""What the tasks about events read out of a store: events with their questions, those that a check dropped left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion

if TYPE_CHECKING:
    from curation.store.store import Store

SOURCE_HINT = "construct or import events first: scedit data construct-events"


def standing_events(store: Store) -> Iterator[Event]:
    """The events that no check has dropped (as the later of two that are alike), in order of keys."""
    dropped = {v.item_id for v in store.verdicts(stale=False) if v.label == "drop" and v.judged_by is None}
    yield from (event for event in store.all(Event) if event.id not in dropped)


def tendency_texts(question: TendencyQuestion, event: Event) -> dict[str, str]:
    """What is shown of a tendency question before anybody proposes an answer."""
    a, b, c = question.options
    return {"event": event.text, "question": question.text, "option_a": a, "option_b": b, "option_c": c}


def numbered_lines(texts: list[str]) -> str:
    r"""Texts as one block, a line each.

    Example:
        >>> numbered_lines(["Who leads it?", "Where is it?"])
        '1. Who leads it?\n2. Where is it?'
    """
    return "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))


def facts_of(store: Store, event: Event) -> list[FactQuestion]:
    """The factual questions of an event, in order of keys."""
    return list(store.of_parents(FactQuestion, [event.key]))


def tendencies_of(store: Store, event: Event) -> list[TendencyQuestion]:
    """The tendency questions of an event, in order of keys."""
    return list(store.of_parents(TendencyQuestion, [event.key]))
