"""ELKEN (Peng et al., 2024; CC BY-NC-SA 4.0): events, with factual questions and tendency questions about them.

Upstream has no ids, so keys are made of the event's type and text and of the questions' texts: copies that were cut or
put together otherwise give equal records equal keys. What is odd in the files is kept and counted, not mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curation.loaders.base import FormatReader, Loader, Problem, Row, RowItem
from curation.loaders.fields import rest, strings, text_of, wikidata
from curation.loaders.file_notes import FileNotes
from curation.loaders.sources import ELKEN
from schemas.core.ids import digest
from schemas.events.event import Event, EventRole
from schemas.events.questions import SCOPE_LISTS, FactQuestion, Scope, TendencyQuestion
from schemas.facts import Entity, Object, Relation

_OPTIONS = re.compile(r"\s*\(A\)(.*?)\(B\)(.*?)\(C\)(.*)", re.DOTALL)
_MISSPELT = {"famale": "female"}
_ASK_FACT = frozenset({"question", "subject", "answer", "rel_id", "type", "alias"})
_ASK_TENDENCY = frozenset({"question", "candidate", "answer"})


class Elken(FormatReader):
    """One event a row. A topic's event is generated, one of an event type comes from a template.

    The field ``type`` of a question in scope is 1 where it needs background knowledge; its top-level ``alias`` holds
    other names of the question's subject. Out of scope the source says neither.
    """

    upstream = ELKEN
    _CARRIED = ("event", "event_type", "subject", "tendency", "fact", "edit_id")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._events, self._questions = FileNotes(), FileNotes()

    def end(self) -> Iterator[Problem]:
        """The quirks of the file, counted."""
        yield from self._events.problems(str(self.path), "quirk", "event")
        yield from self._questions.problems(str(self.path), "quirk", "question")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The event, its questions, and extras."""
        data = row.data
        text, type = text_of(data, "event"), text_of(data, "event_type")
        if text.startswith('"') and text.endswith('"'):
            self._events.add("the event stands in quotation marks", row)
        key = event_key(type, text)
        subject = data.get("subject")
        yield Event(
            key=key,
            text=text,
            type=type,
            origin="generated" if type[:1].isupper() else "template",
            roles=(EventRole(role="subject", entity=_entity(subject)),) if subject else (),
            source=self.upstream.source(data.get("edit_id")),
        )
        scopes: dict[str, Scope] = {}
        for part, scope in SCOPE_LISTS.items():
            for kind, read in (("fact", self._fact), ("tendency", self._tendency)):
                for question in data[kind][part]:
                    text = text_of(question, "question")
                    if (before := scopes.setdefault(text.casefold(), scope)) == scope:
                        yield from read(key, question, scope, row)
                        continue
                    what = f"the {kind} question {text!r} is both in and out of scope of its event"
                    yield Problem(row.where, "contradictory", f"{what}; the first counts: {before}", key)
        yield from rest(key, data, self._CARRIED)

    def _fact(self, event: str, question: dict[str, Any], scope: Scope, row: Row) -> Iterator[RowItem]:
        text, answer, relation = text_of(question, "question"), question["answer"], text_of(question, "rel_id")
        name, aliases = text_of(answer, "name"), tuple(strings(answer.get("alias")))
        key = question_key(event, "fact", text)
        self._notes_of_fact(question, name, aliases, row)
        if meant := _MISSPELT.get(name):
            what = f"the answer {name!r} of '{key}' can be given by no model ('{meant}' is meant)"
            yield Problem(row.where, "impossible-answer", what, key)
        yield FactQuestion(
            key=key,
            event=event,
            text=text,
            subject=_entity(question["subject"], tuple(strings(question.get("alias")))),
            relation=Relation(id=re.sub(r"\s+", "-", relation)),
            answer=Object(text=name, aliases=aliases, wikidata=wikidata(answer.get("id"))),
            scope=scope,
            background=str(question.get("type", 0)) == "1",
        )
        yield from rest(key, question, _ASK_FACT)

    def _notes_of_fact(self, question: dict[str, Any], name: str, aliases: tuple[str, ...], row: Row) -> None:
        if "ent2name" in question["subject"]:
            self._questions.add("its subject has its name under 'ent2name'", row)
        if name in aliases:
            self._questions.add("its answer is its own alias", row)
        if not re.fullmatch(r"P\d+", question["rel_id"]):
            self._questions.add("its relation is no Wikidata property", row)

    def _tendency(self, event: str, question: dict[str, Any], scope: Scope, row: Row) -> Iterator[RowItem]:
        text, listed = text_of(question, "question"), text_of(question, "candidate")
        match = _OPTIONS.fullmatch(listed)
        if match is None:
            raise ValueError(f"the options are not '(A) ... (B) ... (C) ...': {listed!r}")
        if question["question"] != text:
            self._questions.add("white space at an end", row)
        key = question_key(event, "tendency", text)
        yield TendencyQuestion.model_validate(
            {
                "key": key,
                "event": event,
                "text": text,
                "options": tuple(option.strip() for option in match.groups()),
                "answer": question["answer"],
                "scope": scope,
            }
        )
        yield from rest(key, question, _ASK_TENDENCY)


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


def _entity(value: dict[str, Any], aliases: tuple[str, ...] = ()) -> Entity:
    name = "name" if "name" in value else "ent2name"
    return Entity(text=text_of(value, name), aliases=aliases, wikidata=wikidata(value.get("id")))


load_elken = Loader("elken", Elken)
