"""Cases: an edit and the material that is asked about it; the unit of a split."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import model_validator

from schemas.core.ids import canonical_json
from schemas.core.records import Frozen, Record
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Fact, Neighbour
from schemas.scripts import ScriptPrompt, ScriptQuestion


class CaseNeighbour(Frozen):
    """A neighbour fact inside a case, with its script prompts."""

    link: Neighbour
    fact: Fact
    questions: tuple[ScriptQuestion, ...] = ()
    prompts: tuple[ScriptPrompt, ...] = ()


class Case(Record):
    """One edit with everything that is asked about it; the unit of a split, of resuming and of intervals."""

    kind: ClassVar[str] = "case"
    fact: Fact
    questions: tuple[ScriptQuestion, ...] = ()
    prompts: tuple[ScriptPrompt, ...] = ()
    neighbours: tuple[CaseNeighbour, ...] = ()

    @property
    def request(self) -> Fact:
        """The edit."""
        return self.fact

    @property
    def group(self) -> str:
        """Kind of the edit by which cases are chosen and reported: how the fact changes."""
        return self.fact.change

    @cached_property
    def canonical_once(self) -> str:
        """``canonical``, kept: a case is long, and its id and its split's digest are made of the same text."""
        return canonical_json(self.payload())

    def canonical(self) -> str:
        """The payload's canonical JSON text, of which the id is made."""
        return self.canonical_once


class EventCase(Record):
    """An event with everything that is asked about it. Either list of questions can be empty, not both.

    Attributes:
        type: Tells it from a case of a fact, whose JSON has no ``type``.
    """

    kind: ClassVar[str] = "event_case"
    type: Literal["event"] = "event"
    event: Event
    facts: tuple[FactQuestion, ...] = ()
    tendencies: tuple[TendencyQuestion, ...] = ()

    @property
    def request(self) -> Event:
        """The edit."""
        return self.event

    @property
    def group(self) -> str:
        """Kind of the edit by which cases are chosen and reported: event type or topic."""
        return self.event.type

    @model_validator(mode="after")
    def _fitting_questions(self) -> EventCase:
        questions: list[FactQuestion | TendencyQuestion] = [*self.facts, *self.tendencies]
        if not questions:
            raise ValueError("an event without a question measures nothing: give it one, or leave it out")
        for question in questions:
            if question.event != self.event.key:
                raise ValueError(f"the question '{question.key}' is about another event ('{question.event}')")
        scopes: dict[str, str] = {}
        for question in questions:
            if scopes.setdefault(question.text.casefold(), question.scope) != question.scope:
                raise ValueError(f"one question is both in and out of scope: {question.text!r}")
        return self


class DocumentCase(Record):
    """A document with the probes that ask for it.

    Attributes:
        type: Tells it from a case of a fact, whose JSON has no ``type``.
    """

    kind: ClassVar[str] = "document_case"
    type: Literal["document"] = "document"
    document: Document
    probes: tuple[DocumentProbe, ...] = ()

    @property
    def request(self) -> Document:
        """The edit."""
        return self.document

    @property
    def group(self) -> str:
        """Kind of the edit by which cases are chosen and reported: the collection that the document comes from."""
        return self.document.source.name

    @model_validator(mode="after")
    def _fitting_probes(self) -> DocumentCase:
        if not self.probes:
            raise ValueError("a document without a probe measures nothing: give it one, or leave it out")
        for probe in self.probes:
            if probe.document != self.document.key:
                raise ValueError(f"the probe '{probe.key}' is about another document ('{probe.document}')")
        return self


AnyCase = Case | EventCase | DocumentCase
"""A case of any kind; its JSON has a ``type`` unless it is one of a fact."""

EditRequest = Fact | Event | Document
"""What a method is asked to make true; its ``kind`` is ``fact``, ``event`` or ``document``."""

FACT = "fact"
EVENT = "event"
DOCUMENT = "document"
CASE_TYPES: Mapping[str, type[Case] | type[EventCase] | type[DocumentCase]] = {
    FACT: Case,
    EVENT: EventCase,
    DOCUMENT: DocumentCase,
}
"""Cases by what their edits are (``request.kind``); a split's header names one as its ``type``, or means facts."""


def read_case(line: str | bytes) -> AnyCase:
    """A case from its JSON text, by the ``type`` that stands in it; a text without one is a fact's.

    Raises:
        ValidationError, ValueError: not a case.
    """
    text = line if isinstance(line, str) else line.decode()
    if '"type"' not in text:
        return Case.model_validate_json(text)
    data = json.loads(text)
    named = data.get("type", FACT) if isinstance(data, dict) else FACT
    return CASE_TYPES.get(named if isinstance(named, str) else FACT, Case).model_validate_json(text)
