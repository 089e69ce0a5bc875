"""The published shape of ELKEN (Peng et al., 2024): one event a record, its questions by kind and scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from curation.export.fact_formats import as_array, stated_source, with_source_fields
from curation.export.formats import Exporter
from curation.loaders.sources import ELKEN as PUBLISHED
from curation.splits.split_file import NONE, Extras
from schemas.cases import EventCase
from schemas.events.questions import LETTERS, SCOPE_LISTS, FactQuestion, TendencyQuestion
from schemas.facts import Entity


def elken_rows(cases: Iterable[EventCase], extras: Extras = NONE) -> Iterator[dict[str, Any]]:
    """ELKEN records, one at a time, in the order of the cases.

    What the shape calls ``ent2name`` is written as ``name``; an event's first role is its ``subject``.

    Args:
        cases: The cases.
        extras: Fields of the source that our records do not carry are put back from these.
    """
    for case, more in with_source_fields(cases, extras):
        event = case.event
        row: dict[str, Any] = {"event_type": event.type, "event": event.text}
        row |= {"subject": _entity(event.roles[0].entity)} if event.roles else {}
        for name, questions in (("tendency", case.tendencies), ("fact", case.facts)):
            scoped_records = [
                (q.scope, (_fact(q) if isinstance(q, FactQuestion) else _tendency(q)) | more[q.key]) for q in questions
            ]
            row[name] = {part: [r for s, r in scoped_records if s == scope] for part, scope in SCOPE_LISTS.items()}
        row |= {"edit_id": event.source.item} if event.source.item else {}
        yield row | stated_source(event.source, PUBLISHED) | more[event.key]


def _fact(question: FactQuestion) -> dict[str, Any]:
    answer = _entity(question.answer) | {"alias": list(question.answer.aliases)}
    subject = question.subject
    row: dict[str, Any] = {"question": question.text}
    row["subject"] = _entity(subject) if subject else {"id": "NA", "name": ""}
    row |= {"answer": answer} | ({"type": int(question.background)} if question.scope == "in" else {})
    aliases = {"alias": list(subject.aliases)} if subject and subject.aliases else {}
    return row | {"rel_id": question.relation.id} | aliases


def _tendency(question: TendencyQuestion) -> dict[str, Any]:
    listed = " ".join(f"({letter}) {text}" for letter, text in zip(LETTERS, question.options, strict=True))
    return {"question": question.text, "candidate": listed, "answer": question.answer}


def _entity(entity: Entity) -> dict[str, Any]:
    return {"id": entity.wikidata or "NA", "name": entity.text}


ELKEN = Exporter(
    as_array(lambda split: elken_rows((c for c in split.all_cases if isinstance(c, EventCase)), split.extras)),
    "{name}.elken.json",
    "events in the published ELKEN shape",
    (
        "keys; roles but the first; the path and the questions of background knowledge",
        "whether a tendency question is about the event's own subject",
        "Wikidata ids of no item (written as NA)",
    ),
    edits=("event",),
)
