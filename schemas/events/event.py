"""The event: an edit in words, and the entities that it is about (ELKEN §2.1)."""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.core.records import Frozen, Language, Record, Text
from schemas.facts import Entity, Source

TEMPLATE_TEXT = "template_text"
"""Where the lineage of an event keeps the words of its template."""


class EventRole(Frozen):
    """An entity that fills a place of an event's template: ``A`` the person, ``B`` the club ..."""

    role: Text
    entity: Entity


class Event(Record):
    """An edit in words: something that happened, in one sentence to five.

    Attributes:
        text: What happened.
        type: Event type ("transfer-player") or, of tendency events, topic ("economy").
        origin: ``template`` (an event type's template with entities filled in, then paraphrased), ``generated`` (a
            topic's event, written by a model), ``written`` (by a person), ``fact`` (made of a fact).
        template: Name of the template, where there is one.
        roles: Entities that fill the template.
    """

    kind: ClassVar[str] = "event"
    language: Language = "en"
    text: Text
    type: Text
    origin: Literal["template", "generated", "written", "fact"]
    template: Text | None = None
    roles: tuple[EventRole, ...] = ()
    source: Source

    @property
    def statement(self) -> str:
        """The edit in words."""
        return self.text

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entities that the event is said to be about."""
        return tuple(name for filled in self.roles for name in filled.entity.names)
