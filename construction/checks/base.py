"""What a rule check is: a name, a version, and a pure function from its inputs to one verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from construction.checks.inputs import CheckInputs, Stage
from construction.checks.store_inputs import store_inputs
from construction.scripts.truncation import apart
from curation.checks.store_checks import CheckContext, StoreCheck
from schemas.core.records import Record
from schemas.facts import Entity
from schemas.text.escaping import escape_line
from schemas.text.mentions import Mention, find
from schemas.verdicts import Label, Span, Verdict, verdict_key

__all__ = ["CheckInputs", "RuleCheck", "Stage", "leaks", "span"]


class RuleCheck(StoreCheck):
    """Base of all rule checks; a check measures or describes, and what is kept is decided elsewhere.

    A rule check is written once, as ``judge_one``. Construction calls it on what was just written; over a store, the
    inputs of each item are looked up by its kind.

    Attributes:
        on: The stage it belongs to.
        not_applicable: Reason of the ``keep`` on a stored item that the check does not apply to.
    """

    on: ClassVar[Stage]
    not_applicable: ClassVar[str] = "does not apply"
    batch: ClassVar[int] = 1000

    def applies(self, inputs: CheckInputs) -> bool:
        """Whether there is anything to judge; where not, construction leaves no verdict."""
        return True

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the item of this check's stage, where the check applies."""
        raise NotImplementedError

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        """Verdicts on items of a store; none on an item whose fact or question is not there, which stays due."""
        for item, inputs in store_inputs(self.on, items, around):
            yield self.judge_one(inputs) if self.applies(inputs) else self.verdict(item, "keep", self.not_applicable)

    def verdict(
        self,
        item: Record,
        label: Label | None,
        reason: str = "",
        *,
        value: float | None = None,
        unit: str | None = None,
        spans: Iterable[Span] = (),
        related: tuple[str, ...] = (),
    ) -> Verdict:
        """A verdict by this check on an item, in relation to other items where some are named."""
        verdict = super().verdict(item, label, escape_line(reason), value=value, unit=unit, spans=spans)
        if not related:
            return verdict
        key = verdict_key(item_id=item.id, by=self.by, related=related)
        return verdict.model_copy(update={"key": key, "related": related})


def span(mention: Mention, what: str) -> Span:
    """A mention as a verdict's span."""
    return Span(start=mention.start, end=mention.end, text=mention.text, what=what)


def leaks(
    text: str, entity: Entity, *, subject: Entity, other: Entity | None = None
) -> tuple[list[Mention], list[Mention]]:
    """Mentions of an entity in a text: those that stand free, and those that are only part of the subject's name.

    Args:
        text: Where to look.
        entity: Who gives the answer away.
        subject: Whose name cannot be avoided.
        other: The other object of the edit; what is only part of its longer name is its mention, not the entity's.
    """
    found = find(text, entity, beside=(other,))
    free = apart(found, find(text, subject)) if found else ()
    return list(free), [m for m in found if m not in free]
