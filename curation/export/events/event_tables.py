"""A split of events as flat tables: events, factual questions, tendency questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from curation.export.columns import Column, source_columns, text_column
from schemas.cases import EventCase
from schemas.events.questions import FactQuestion

_CASE, _EVENT = text_column("case", "key of the case"), text_column("event", "key of the event")
_SCOPE = text_column("scope", "in: the answer after the edit is the given one; out: the answer must stay what it was")

EVENT_TABLES: Mapping[str, tuple[Column, ...]] = {
    "events": (
        _CASE,
        _EVENT,
        text_column("text", "what happened: the edit"),
        text_column("language", "language of the text"),
        text_column("type", "event type or topic"),
        text_column("origin", "template, generated, written or fact"),
        text_column("template", "name of the template, or null"),
        Column("roles", "VARCHAR[]", "roles of the template"),
        Column("entities", "VARCHAR[]", "the entities that fill them, in the same order"),
        *source_columns("the event"),
    ),
    "fact_questions": (
        _CASE,
        text_column("question", "key of the question"),
        _EVENT,
        text_column("text", "the question"),
        _SCOPE,
        text_column("subject", "what it asks about, or null"),
        Column("subject_aliases", "VARCHAR[]", "other names of it"),
        text_column("relation", "Wikidata property id, or a name"),
        text_column("relation_label", "the relation in words"),
        text_column("answer", "the right answer; unknown: the old one is gone and no new one is given"),
        Column("answer_aliases", "VARCHAR[]", "other names of the answer"),
        text_column("answer_wikidata", "Wikidata id of the answer, or null"),
        Column("background", "BOOLEAN", "whether world knowledge beside the event is needed"),
        Column("path", "VARCHAR[]", "relations that lead from the event's entity to the answer"),
        Column("background_questions", "VARCHAR[]", "questions for that knowledge, asked without the event"),
        Column("background_answers", "VARCHAR[]", "their answers, in the same order"),
    ),
    "tendency_questions": (
        _CASE,
        text_column("question", "key of the question"),
        _EVENT,
        text_column("text", "the question"),
        _SCOPE,
        Column("options", "VARCHAR[]", "what stands behind (A), (B) and (C)"),
        text_column("answer", "letter of the right option"),
        Column("about_event_subject", "BOOLEAN", "whether it asks about the event's own subject, or null"),
    ),
}
"""Columns of every table, in order."""


def _events(case: EventCase) -> Iterator[tuple[Any, ...]]:
    event, source = case.event, case.event.source
    yield (
        *(case.key, event.key, event.text, event.language, event.type, event.origin, event.template),
        *([filled.role for filled in event.roles], [filled.entity.text for filled in event.roles]),
        *(source.name, source.licence, source.url, source.item, source.date),
    )


def _facts(case: EventCase) -> Iterator[tuple[Any, ...]]:
    for q in case.facts:
        subject = (q.subject.text, list(q.subject.aliases)) if q.subject is not None else (None, [])
        answer = (q.answer.text, list(q.answer.aliases), q.answer.wikidata)
        where = (case.key, q.key, q.event, q.text, q.scope)
        yield (*where, *subject, q.relation.id, q.relation.label, *answer, q.background, list(q.path), *_background(q))


def _background(question: FactQuestion) -> tuple[list[str], list[str]]:
    questions = question.background_questions
    return [b.text for b in questions], [b.answer.text for b in questions]


def _tendencies(case: EventCase) -> Iterator[tuple[Any, ...]]:
    for q in case.tendencies:
        yield (case.key, q.key, q.event, q.text, q.scope, list(q.options), q.answer, q.about_event_subject)


EVENT_ROWS: Mapping[str, Callable[[EventCase], Iterator[tuple[Any, ...]]]] = {
    "events": _events,
    "fact_questions": _facts,
    "tendency_questions": _tendencies,
}
"""The rows of a case, by table."""
