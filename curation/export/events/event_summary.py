"""What can be said of a split of events in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from curation.export.judged_summary import JudgedSummary
from schemas.cases import EventCase


@dataclass(frozen=True, kw_only=True)
class EventSummary(JudgedSummary):
    """Counts of a split of events.

    Attributes:
        types: Events by type or topic.
        origins: By where they come from.
        facts, tendencies: Questions by scope.
        unknown, background: Factual questions in scope whose answer becomes unknown, and that need world knowledge.
        letters: Tendency questions by scope and right letter.
        bare: Events with factual questions only, and with tendency questions only.
    """

    types: Mapping[str, int]
    origins: Mapping[str, int]
    facts: Mapping[str, int]
    tendencies: Mapping[str, int]
    unknown: int
    background: int
    letters: Mapping[tuple[str, str], int]
    bare: tuple[int, int]


def event_numbers(cases: Iterable[EventCase]) -> EventSummary:
    """Count the cases of a split of events."""
    types: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    facts: Counter[str] = Counter()
    tendencies: Counter[str] = Counter()
    letters: Counter[tuple[str, str]] = Counter()
    sources: Counter[tuple[str, str, str | None]] = Counter()
    unknown = background = no_tendency = no_fact = 0
    for case in cases:
        event = case.event
        types[event.type] += 1
        origins[event.origin] += 1
        sources[event.source.name, event.source.licence, event.source.url] += 1
        facts.update(q.scope for q in case.facts)
        tendencies.update(q.scope for q in case.tendencies)
        letters.update((q.scope, q.answer) for q in case.tendencies)
        unknown += sum(q.unknown for q in case.facts)
        background += sum(q.background for q in case.facts if q.scope == "in")
        no_tendency, no_fact = no_tendency + (not case.tendencies), no_fact + (not case.facts)
    return EventSummary(
        types=dict(types.most_common()),
        origins=dict(origins.most_common()),
        facts=dict(sorted(facts.items())),
        tendencies=dict(sorted(tendencies.items())),
        unknown=unknown,
        background=background,
        letters=dict(sorted(letters.items())),
        bare=(no_tendency, no_fact),
        sources=dict(sources.most_common()),
    )
