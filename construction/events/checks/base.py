"""What a check of events is: a name, a version, and a pure function from an event and its questions to one verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from curation.checks.store_checks import CheckContext, ItemCheck
from schemas.core.records import Record
from schemas.events.event import TEMPLATE_TEXT, Event
from schemas.events.questions import FactQuestion, TendencyQuestion


@dataclass(frozen=True, kw_only=True)
class EventInputs:
    """What a check may look at.

    Attributes:
        event: The event.
        bare: The event as its template words it; None where that is not known.
        facts: Its factual questions.
        question: The tendency question that is judged, where one is.
        earlier: Tendency questions of the event that came before it.
    """

    event: Event
    bare: str | None = None
    facts: tuple[FactQuestion, ...] = ()
    question: TendencyQuestion | None = None
    earlier: tuple[TendencyQuestion, ...] = ()


class EventCheck(ItemCheck[EventInputs]):
    """Base of the checks on events and on their tendency questions."""

    on: ClassVar[str] = "tendency_question"

    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, EventInputs]]:
        """Events, or questions whose event is there, each with its inputs."""
        return (self._events if self.on == Event.kind else self._questions)(items, around)

    def _events(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, EventInputs]]:
        questions_of: dict[str, list[FactQuestion]] = defaultdict(list)
        for question in around.store.of_parents(FactQuestion, {item.key for item in items}):
            questions_of[question.event].append(question)
        for item in items:
            assert isinstance(item, Event)
            bare_texts = (line.detail.get(TEMPLATE_TEXT) for line in around.store.lineage(item.id))
            bare = next((text for text in bare_texts if isinstance(text, str)), None)
            yield item, EventInputs(event=item, bare=bare, facts=tuple(questions_of[item.key]))

    def _questions(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, EventInputs]]:
        questions = [item for item in items if isinstance(item, TendencyQuestion)]
        keys = {question.event for question in questions}
        events = {event.key: event for event in around.store.by_keys(Event, keys)}
        siblings: dict[str, list[TendencyQuestion]] = defaultdict(list)
        for sibling in around.store.of_parents(TendencyQuestion, keys):
            siblings[sibling.event].append(sibling)
        for question in questions:
            if (event := events.get(question.event)) is not None:
                earlier = tuple(s for s in siblings[event.key] if s.key < question.key)
                yield question, EventInputs(event=event, question=question, earlier=earlier)
