"""From the store to the cases of a split of events: every loss is counted by its reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TypeVar

from curation.rules.event_rule import EventRule
from curation.rules.rule import KEPT, Decision
from curation.rules.selection import BLOCK, Ruling, decision_of_erratum
from curation.splits.errata import Errata
from curation.store.block_reader import KeyRange
from curation.store.store import Store
from schemas.cases import EventCase
from schemas.core.records import Record
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion

Q = TypeVar("Q", FactQuestion, TendencyQuestion)


class EventRuling:
    """What a rule for events says of events and their questions.

    Args:
        store: The store.
        rule: The rule.
        errata: Known faults; they outrank people.
        items: Read the verdicts on these items only; None: all units are checked, and ``over`` reads some items.
    """

    def __init__(
        self, store: Store, rule: EventRule, errata: Errata | None = None, *, items: Iterable[str] | None = None
    ) -> None:
        self.rule, self._ruling = rule, Ruling(store, rule, errata=errata, items=items)

    def over(self, items: Iterable[str]) -> EventRuling:
        """The same with the verdicts on other items."""
        copied = copy(self)
        copied._ruling = self._ruling.over(items)
        return copied

    def of_case(self, case: EventCase) -> Decision:
        """The outcome for a whole case, of exactly this content."""
        return self._ruling.verdicts.judge(case.kind, case.id)

    def decide(self, record: Record) -> Decision:
        """The outcome for an event (an erratum on its case is one on the event) or a question."""
        if isinstance(record, Event) and (known := self._ruling.errata.of(f"case/{record.key}", record.id)):
            return decision_of_erratum(known)
        judged, wanted = self._ruling.of(record), self.rule.min_people
        if isinstance(record, Event) or judged != KEPT:
            return judged
        if self._ruling.verdicts.number_of_people(record.id) < wanted:
            return Decision("hold", "people", f"fewer than {wanted} people judged it")
        return KEPT


class EventSelectionStream:
    """Cases that a rule makes of the store's current events, one at a time and once; as ``SelectionStream``.

    Attributes:
        unprompted: Always empty: questions about events need no prompt.
        prompts: Always 0: no threshold looks at prompts.
    """

    def __init__(self, store: Store, rule: EventRule, *, errata: Errata | None = None, block: int = BLOCK) -> None:
        self._store, self._rule, self._size = store, rule, block
        self._ruling = EventRuling(store, rule, errata)
        self._counts: Counter[str] = Counter()
        self.unprompted: Counter[str] = Counter()
        self.prompts = 0

    @property
    def counts(self) -> dict[str, int]:
        """What was counted so far, by reason."""
        return dict(sorted({"cases": 0, **self._counts}.items()))

    def __iter__(self) -> Iterator[EventCase]:
        for keys in self._store.ranges(self._rule.prefix, self._size, kind=Event.kind):
            cases = list(self._block(keys))
            whole = self._ruling.over(c.id for c in cases)  # people can judge whole cases
            for case in cases:
                if self._passes(whole.of_case(case), "case"):
                    self._counts["cases"] += 1
                    yield case

    def _block(self, keys: KeyRange) -> Iterator[EventCase]:
        events = self._store.in_range(Event, keys)
        facts = self._store.in_range(FactQuestion, keys, parent=True)
        tendencies = self._store.in_range(TendencyQuestion, keys, parent=True)
        ruling = self._ruling.over(record.id for records in (events, facts, tendencies) for record in records)
        fact_questions, likely = self._passing_questions(facts, ruling), self._passing_questions(tendencies, ruling)
        for event in events:
            if self._rule.types is not None and event.type not in self._rule.types:
                continue
            self._counts["events"] += 1
            if not self._passes(ruling.decide(event), "event"):
                continue
            case_questions = (*fact_questions[event.key], *likely[event.key])
            if len(case_questions) < self._rule.min_questions:
                self._counts["event: too few questions"] += 1
                continue
            yield EventCase(
                key=f"case/{event.key}",
                event=event,
                facts=tuple(fact_questions[event.key]),
                tendencies=tuple(likely[event.key]),
            )

    def _passing_questions(self, questions: Sequence[Q], ruling: EventRuling) -> defaultdict[str, list[Q]]:
        """Questions that pass, by their event; what is lost is counted."""
        by_event: defaultdict[str, list[Q]] = defaultdict(list)
        for question in questions:
            if self._passes(ruling.decide(question), question.kind.replace("_", " ")):
                by_event[question.event].append(question)
        return by_event

    def _passes(self, judged: Decision, what: str) -> bool:
        if judged.outcome == "keep":
            return True
        self._counts[f"{what}: {'dropped' if judged.outcome == 'drop' else 'held'} by {judged.by}"] += 1
        return False
