"""From the store to the cases of a split of events: every loss is counted by its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from curation.rules.event_rule import EventRule
from curation.rules.request_selection import RequestSelectionStream
from curation.store.block_reader import KeyRange
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion


class EventSelectionStream(RequestSelectionStream[EventCase, EventRule]):
    """Cases that a rule makes of the store's current events, one at a time and once."""

    edit: ClassVar[str] = Event.kind

    def _block(self, keys: KeyRange) -> Iterator[EventCase]:
        events = self._store.in_range(Event, keys)
        facts = self._store.in_range(FactQuestion, keys, parent=True)
        tendencies = self._store.in_range(TendencyQuestion, keys, parent=True)
        ruling = self._ruling.over(record.id for records in (events, facts, tendencies) for record in records)
        fact_questions = self._passing(facts, ruling, lambda question: question.event)
        likely = self._passing(tendencies, ruling, lambda question: question.event)
        for event in events:
            if self._rule.types is not None and event.type not in self._rule.types:
                continue
            self._counts["events"] += 1
            if not self._passes(ruling.decide(event), "event"):
                continue
            case_questions: tuple[FactQuestion | TendencyQuestion, ...] = (
                *fact_questions[event.key],
                *likely[event.key],
            )
            if len(case_questions) < self._rule.min_questions:
                self._counts["event: too few questions"] += 1
                continue
            _refuse_both_scopes(case_questions)
            yield EventCase(
                key=f"case/{event.key}",
                event=event,
                facts=tuple(fact_questions[event.key]),
                tendencies=tuple(likely[event.key]),
            )


def _refuse_both_scopes(questions: Sequence[FactQuestion | TendencyQuestion]) -> None:
    """A store can hold what no case can: records of several sources, each sound by itself."""
    first: dict[str, FactQuestion | TendencyQuestion] = {}
    for question in questions:
        earlier = first.setdefault(question.text.casefold(), question)
        if earlier.scope != question.scope:
            raise UserError(
                f"one question is both in and out of scope: {question.text!r} ('{earlier.key}' and '{question.key}')",
                where=question.event,
                fix=f"take one of them out: scedit split errata add {question.key} REASON --errata FILE",
            )
