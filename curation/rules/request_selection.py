"""What splits of events and of documents share on the way from the store: rulings, and a stream that counts losses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import ClassVar, Generic, TypeVar

from curation.rules.document_rule import DocumentRule
from curation.rules.event_rule import EventRule
from curation.rules.rule import KEPT, Decision
from curation.rules.selection import BLOCK, Ruling, decision_of_erratum
from curation.splits.errata import Errata
from curation.store.block_reader import KeyRange
from curation.store.store import Store
from schemas.cases import DocumentCase, EventCase
from schemas.core.records import Record
from schemas.documents.document import Document
from schemas.events.event import Event

C = TypeVar("C", EventCase, DocumentCase)
Rule = TypeVar("Rule", EventRule, DocumentRule)
Q = TypeVar("Q", bound=Record)


class RequestRuling(Generic[Rule]):
    """What a rule says of events or documents, and of what is asked about them.

    Args:
        store: The store.
        rule: The rule.
        errata: Known faults; they outrank people.
        items: Read the verdicts on these items only; None: all units are checked, and ``over`` reads some items.
    """

    def __init__(
        self, store: Store, rule: Rule, errata: Errata | None = None, *, items: Iterable[str] | None = None
    ) -> None:
        self.rule: Rule = rule
        self._ruling = Ruling(store, rule, errata=errata, items=items)

    def over(self, items: Iterable[str]) -> RequestRuling[Rule]:
        """The same with the verdicts on other items."""
        copied = copy(self)
        copied._ruling = self._ruling.over(items)
        return copied

    def of_case(self, case: EventCase | DocumentCase) -> Decision:
        """The outcome for a whole case, of exactly this content."""
        return self._ruling.verdicts.judge(case.kind, case.id)

    def decide(self, record: Record) -> Decision:
        """The outcome for an event or document (an erratum on its case is one on it), or for what asks about it."""
        edited = isinstance(record, Event | Document)
        if edited and (known := self._ruling.errata.of(f"case/{record.key}", record.id)):
            return decision_of_erratum(known)
        judged, wanted = self._ruling.of(record), self.rule.min_people
        if edited or judged != KEPT:
            return judged
        if self._ruling.verdicts.number_of_people(record.id) < wanted:
            return Decision("hold", "people", f"fewer than {wanted} people judged it")
        return KEPT


class RequestSelectionStream(Generic[C, Rule]):
    """Cases that a rule makes of the store's current edits, one at a time and once; as ``SelectionStream``.

    Attributes:
        edit: Kind of the edits.
        unprompted: Always empty: what asks about events and documents needs no prompt.
        prompts: Always 0: no threshold looks at prompts.
    """

    edit: ClassVar[str]

    def __init__(self, store: Store, rule: Rule, *, errata: Errata | None = None, block: int = BLOCK) -> None:
        self._store, self._size = store, block
        self._rule: Rule = rule
        self._ruling: RequestRuling[Rule] = RequestRuling(store, rule, errata)
        self._counts: Counter[str] = Counter({f"{self.edit}s": 0})
        self.unprompted: Counter[str] = Counter()
        self.prompts = 0

    @property
    def counts(self) -> dict[str, int]:
        """What was counted so far, by reason."""
        return dict(sorted({"cases": 0, **self._counts}.items()))

    def __iter__(self) -> Iterator[C]:
        for keys in self._store.ranges(self._rule.prefix, self._size, kind=self.edit):
            cases = list(self._block(keys))
            whole = self._ruling.over(c.id for c in cases)  # people can judge whole cases
            for case in cases:
                if self._passes(whole.of_case(case), "case"):
                    self._counts["cases"] += 1
                    yield case

    def _block(self, keys: KeyRange) -> Iterator[C]:
        """Cases of a range of edits' keys; defined by the type of edit."""
        raise NotImplementedError

    def _passing(
        self, asked: Sequence[Q], ruling: RequestRuling[Rule], edit_of: Callable[[Q], str]
    ) -> defaultdict[str, list[Q]]:
        """What asks and passes, by its edit; what is lost is counted."""
        by_edit: defaultdict[str, list[Q]] = defaultdict(list)
        for record in asked:
            if self._passes(ruling.decide(record), record.kind.replace("_", " ")):
                by_edit[edit_of(record)].append(record)
        return by_edit

    def _passes(self, judged: Decision, what: str) -> bool:
        if judged.outcome == "keep":
            return True
        self._counts[f"{what}: {'dropped' if judged.outcome == 'drop' else 'held'} by {judged.by}"] += 1
        return False
