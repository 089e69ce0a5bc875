"""ELKEN (Peng et al., 2024; CC BY-NC-SA 4.0): events, with factual questions and tendency questions about them.

Upstream has no ids, so keys are made of the event's type and text and of the questions' texts: copies that were cut or
put together otherwise give equal records equal keys. What is odd in the files is kept and counted, not mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AliasChoices, Field

from curation.loaders.base import FormatReader, Loader, Problem, Row, RowItem
from curation.loaders.shapes import OrNone, RawText, Shape, Text, Texts, WikidataId, rest
from curation.loaders.sources import ELKEN
from schemas.core.ids import digest
from schemas.events.event import Event, EventRole
from schemas.events.questions import SCOPE_LISTS, FactQuestion, Scope, TendencyQuestion
from schemas.facts import Entity, Object, Relation

_OPTIONS = re.compile(r"\s*\(A\)(.*?)\(B\)(.*?)\(C\)(.*)", re.DOTALL)
_MISSPELT = {"famale": "female"}


class ElkenEntity(Shape):
    """A name, under one of two fields."""

    name: Text = Field(validation_alias=AliasChoices("name", "ent2name"))
    id: WikidataId = None
    ent2name: str | None = None


class ElkenAnswer(Shape):
    """An answer with its other names."""

    name: Text
    alias: Texts = ()
    id: WikidataId = None


class ElkenFact(Shape):
    """A factual question; its ``alias`` holds other names of its subject.

    In scope, ``type`` is 1 where the question needs background knowledge. Out of scope the source says nothing.
    """

    question: RawText
    subject: ElkenEntity
    answer: ElkenAnswer
    rel_id: Text
    type: Any = 0
    alias: Texts = ()


class ElkenTendency(Shape):
    """A question with three options."""

    question: RawText
    candidate: Text
    answer: Literal["A", "B", "C"]


Q = TypeVar("Q")


class QuestionLists(Shape, Generic[Q]):
    """Questions in scope and out of it."""

    qas: tuple[Q, ...]
    local_qas: tuple[Q, ...]


class ElkenShape(Shape):
    """An event with its questions."""

    event: Text
    event_type: Text
    subject: Annotated[ElkenEntity | None, OrNone] = None
    fact: QuestionLists[ElkenFact]
    tendency: QuestionLists[ElkenTendency]
    edit_id: Any = None


class Elken(FormatReader):
    """One event a row. A topic's event is generated, one of an event type comes from a template."""

    upstream = ELKEN

    def make(self, row: Row) -> Iterator[RowItem]:
        """The event, its questions, and extras."""
        data = ElkenShape.of(row.data)
        if data.event.startswith('"') and data.event.endswith('"'):
            self.note("the event stands in quotation marks", row, kind="quirk", of="event")
        key = event_key(data.event_type, data.event)
        yield Event(
            key=key,
            text=data.event,
            type=data.event_type,
            origin="generated" if data.event_type[:1].isupper() else "template",
            roles=(EventRole(role="subject", entity=_entity(data.subject)),) if data.subject else (),
            source=self.source(data.edit_id),
        )
        scopes: dict[str, Scope] = {}
        for part, scope in SCOPE_LISTS.items():
            questions: list[ElkenFact | ElkenTendency] = [*getattr(data.fact, part), *getattr(data.tendency, part)]
            for question in questions:
                text = question.question.strip()
                if (before := scopes.setdefault(text.casefold(), scope)) == scope:
                    read = self._fact if isinstance(question, ElkenFact) else self._tendency
                    yield from read(key, question, scope, row)  # type: ignore[arg-type]
                    continue
                kind = "fact" if isinstance(question, ElkenFact) else "tendency"
                what = f"the {kind} question {text!r} is both in and out of scope of its event"
                yield Problem(row.where, "contradictory", f"{what}; the first counts: {before}", key)
        yield from rest(key, data.others)

    def _fact(self, event: str, question: ElkenFact, scope: Scope, row: Row) -> Iterator[RowItem]:
        text, answer = question.question.strip(), question.answer
        key = question_key(event, "fact", text)
        quirks = {
            "its subject has its name under 'ent2name'": "ent2name" in question.subject.model_fields_set,
            "its answer is its own alias": answer.name in answer.alias,
            "its relation is no Wikidata property": not re.fullmatch(r"P\d+", question.rel_id),
        }
        for quirk in (quirk for quirk, found in quirks.items() if found):
            self.note(quirk, row, kind="quirk", of="question")
        if meant := _MISSPELT.get(answer.name):
            what = f"the answer {answer.name!r} of '{key}' can be given by no model ('{meant}' is meant)"
            yield Problem(row.where, "impossible-answer", what, key)
        yield FactQuestion(
            key=key,
            event=event,
            text=text,
            subject=_entity(question.subject, question.alias),
            relation=Relation(id=re.sub(r"\s+", "-", question.rel_id)),
            answer=Object(text=answer.name, aliases=answer.alias, wikidata=answer.id),
            scope=scope,
            background=str(question.type) == "1",
        )
        yield from rest(key, question.others)

    def _tendency(self, event: str, question: ElkenTendency, scope: Scope, row: Row) -> Iterator[RowItem]:
        text, match = question.question.strip(), _OPTIONS.fullmatch(question.candidate)
        if match is None:
            raise ValueError(f"the options are not '(A) ... (B) ... (C) ...': {question.candidate!r}")
        if question.question != text:
            self.note("white space at an end", row, kind="quirk", of="question")
        key = question_key(event, "tendency", text)
        options = tuple(option.strip() for option in match.groups())
        fields = {"key": key, "event": event, "text": text, "options": options}
        yield TendencyQuestion.model_validate({**fields, "answer": question.answer, "scope": scope})
        yield from rest(key, question.others)


def event_key(type: str, text: str) -> str:
    """The key of an event: its type (``education`` and ``Education`` are two) and a hash of its text.

    Example:
        >>> event_key("transfer-player", "X moved to Y.")
        'elken/transfer-player/153615f678'
    """
    return f"elken/{re.sub(r'[^0-9A-Za-z-]+', '-', type)}/{digest([text])[:10]}"


def question_key(event: str, part: str, text: str) -> str:
    """The key of a question: its event's, ``fact`` or ``tendency``, and a hash of its text."""
    return f"{event}/{part}/{digest([text])[:8]}"


def _entity(entity: ElkenEntity, aliases: tuple[str, ...] = ()) -> Entity:
    return Entity(text=entity.name, aliases=aliases, wikidata=entity.id)


load_elken = Loader("elken", Elken)
