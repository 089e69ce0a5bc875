"""What a rule check is: a name, a version, and a pure function from its inputs to one verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from construction.checks.inputs import CheckInputs, Stage
from construction.checks.store_inputs import store_inputs
from construction.mentions import find_object
from curation.checks.store_checks import CheckContext, ItemCheck
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Relation
from schemas.text.escaping import escape_line
from schemas.text.mentions import Mention, find
from schemas.verdicts import Label, Span, Verdict, verdict_key

__all__ = ["CheckInputs", "LeakCheck", "Leaks", "RuleCheck", "Stage", "leaks", "span"]


class RuleCheck(ItemCheck[CheckInputs]):
    """Base of all rule checks on questions, scripts and prompts.

    Attributes:
        on: The stage it belongs to.
    """

    on: ClassVar[Stage]

    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterable[tuple[Record, CheckInputs]]:
        """Items whose fact and question are there, each with its inputs by its kind."""
        return store_inputs(self.on, items, around)

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


class LeakCheck(RuleCheck):
    """Base of the checks for texts that should name neither object of an edit.

    Attributes:
        text_name: What the text is called in reasons.
        order: Which object is looked for first; its place is told where both are named.
    """

    text_name: ClassVar[str]
    order: ClassVar[tuple[str, str]]

    def leak_verdict(self, item: Record, text: str, fact: Fact) -> Verdict:
        """``drop`` where an object is named, ``unsure`` where it may be, else ``keep``."""
        objects = {"old object": fact.old, "new object": fact.new}
        all_leaks = Leaks()
        for what, other in (self.order, self.order[::-1]):
            all_leaks += leaks(
                text,
                what,
                objects[what],
                other=objects[other],
                subject=fact.subject,
                relation=fact.relation,
            )
        if all_leaks.named:
            first = all_leaks.named[0]
            reason = f"the {self.text_name} names the {first.what} ('{first.text}')"
            return self.verdict(item, "drop", reason, spans=all_leaks.named)
        if all_leaks.doubtful:
            return self.verdict(
                item, "unsure", all_leaks.doubtful[0][1], spans=[place for place, _ in all_leaks.doubtful]
            )
        return self.verdict(item, "keep")


def span(mention: Mention, what: str) -> Span:
    """A mention as a verdict's span."""
    return Span(start=mention.start, end=mention.end, text=mention.text, what=what)


class Leaks(NamedTuple):
    """Where objects are named in a text that should name none.

    Attributes:
        named: Places that name one.
        doubtful: Places that may, each with why it is for people to decide.
    """

    named: tuple[Span, ...] = ()
    doubtful: tuple[tuple[Span, str], ...] = ()

    def __add__(self, more: object) -> Leaks:
        """Both together, in order."""
        if not isinstance(more, Leaks):
            return NotImplemented
        return Leaks(self.named + more.named, self.doubtful + more.doubtful)


def leaks(
    text: str,
    what: str,
    entity: Entity | None,
    *,
    subject: Entity,
    other: Entity | None = None,
    relation: Relation | None = None,
    whose: str = "the subject's",
) -> Leaks:
    """Mentions of an object in a text that should not name it.

    Args:
        text: Where to look.
        what: What the object is called in spans and reasons ("old object").
        entity: The object that must not be named; None where there is none.
        subject: Whose name cannot be avoided: an object that is only part of it is for people to decide.
        other: The other object of the edit; what is only part of its longer name is its mention, not the entity's.
        relation: The relation of the object's fact; it may say that the object is a person.
        whose: Whose name the subject's is, for reasons.
    """
    if entity is None:
        return Leaks()
    mentions = find_object(text, entity, beside=(other,), relation=relation)
    hosts = find(text, subject) if mentions else ()
    named, doubtful = [], []
    for one in mentions:
        place = span(one.mention, what)
        host = next((h for h in hosts if h.start <= place.start and place.end <= h.end), None)
        if host is not None and host.text == place.text and not one.fits:
            continue  # the object's name is derived from the subject's
        if host is not None:
            doubtful.append((place, f"the {what} ('{place.text}') is part of {whose} name"))
        elif one.doubt:
            doubtful.append((place, f"the {what}? {one.doubt}"))
        else:
            named.append(place)
    return Leaks(tuple(named), tuple(doubtful))
