"""Checks that judge one item at a time: the same pure function in construction and over a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

from curation.checks.store_checks import CheckContext, StoreCheck
from schemas.core.records import Record
from schemas.verdicts import Verdict

Inputs = TypeVar("Inputs")


class ItemCheck(StoreCheck, Generic[Inputs]):
    """Base of the checks that are written once, as ``judge_one``, a pure function from inputs to one verdict.

    Construction calls it on what was just written. Over a store, ``inputs_of`` looks the inputs of items up. A check
    measures or describes; what is kept is decided elsewhere.

    Attributes:
        not_applicable: Reason of the ``keep`` on a stored item that the check does not apply to.
    """

    batch: ClassVar[int] = 1000
    not_applicable: ClassVar[str] = "does not apply"

    def applies(self, inputs: Inputs) -> bool:
        """Whether there is anything to judge; where not, construction leaves no verdict."""
        return True

    def judge_one(self, inputs: Inputs) -> Verdict:
        """The verdict on the item, where the check applies."""
        raise NotImplementedError

    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterable[tuple[Record, Inputs]]:
        """Items of a store with what the check may look at; one that lacks something is left out, and stays due."""
        raise NotImplementedError

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        """Verdicts on items of a store; none on an item without inputs, which stays due."""
        for item, inputs in self.inputs_of(items, around):
            yield self.judge_one(inputs) if self.applies(inputs) else self.verdict(item, "keep", self.not_applicable)
