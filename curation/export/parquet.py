"""A split as flat Parquet tables, written by DuckDB chunk by chunk: cases, questions, prompts, neighbours.

Nothing of a case is lost in them; keys join the tables.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files.atomic import atomic_folder
from curation.splits.split_file import Split
from schemas.cases import FACT, Case, EventCase
from schemas.core.errors import UserError
from schemas.events.questions import FactQuestion
from schemas.extras import Extra
from schemas.facts import Fact
from schemas.scripts import ScriptPrompt, ScriptQuestion


class Column(NamedTuple):
    """A column: its name, its DuckDB type (``[]``: a list), and what is in it."""

    name: str
    type: str
    about: str


def source_columns(what: str) -> tuple[Column, ...]:
    """Where a record comes from, under what licence.

    Args:
        what: What comes from there, in words.

    Example:
        >>> source_columns("the event")[0].about
        'where the event comes from'
    """
    return (
        text_column("source", f"where {what} comes from"),
        text_column("licence", "licence that the source states"),
        text_column("source_url", "address of the source, or null"),
        text_column("source_item", "the record in the source, or null"),
        text_column("source_date", "date of the source, or null"),
    )


def text_column(name: str, description: str) -> Column:
    """A column of texts.

    Example:
        >>> text_column("case", "key of the case").type
        'VARCHAR'
    """
    return Column(name, "VARCHAR", description)


_CHUNK = 2000
_MEMORY = "512MB"


_CASE_KEY, _EVENT = text_column("case", "key of the case"), text_column("event", "key of the event")
_SCOPE = text_column("scope", "in: the answer after the edit is the given one; out: the answer must stay what it was")

EVENT_TABLES: Mapping[str, tuple[Column, ...]] = {
    "events": (
        _CASE_KEY,
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
        _CASE_KEY,
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
        _CASE_KEY,
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

_FACT = (
    text_column("fact", "key of the fact"),
    text_column("subject", "subject"),
    Column("subject_aliases", "VARCHAR[]", "other names of the subject"),
    text_column("subject_wikidata", "Wikidata id of the subject, or null"),
    text_column("relation", "Wikidata property id, or a name"),
    text_column("relation_label", "the relation in words"),
    text_column("prompt", "fact prompt with one {} for the subject; the object follows after one space"),
    text_column("fact_prompt", "the same with the subject filled in"),
    text_column("old", "old object: what the source says before the edit"),
    Column("old_aliases", "VARCHAR[]", "other names of the old object"),
    text_column("old_wikidata", "Wikidata id of the old object, or null"),
    text_column("old_datatype", "entity, or the kind of literal"),
    text_column("new", "new object; null for facts that are not to be edited"),
    Column("new_aliases", "VARCHAR[]", "other names of the new object"),
    text_column("new_wikidata", "Wikidata id of the new object, or null"),
    text_column("new_datatype", "entity, or the kind of literal; null where there is no new object"),
    text_column("change", "counterfactual, temporal or none"),
    text_column("changed_on", "ISO date of a temporal change, as exact as it is known"),
    Column("paraphrases", "VARCHAR[]", "other fact prompts, filled in"),
    Column("neighbour_prompts", "VARCHAR[]", "plain prompts of other subjects that have the same old object"),
    text_column("language", "language of the prompts, such as en"),
    *source_columns("the fact"),
)
_CASE = text_column("case", "key of the case")
_LINK = text_column("neighbour", "key of the neighbour's link; null for what asks about the edited fact")

TABLES: Mapping[str, tuple[Column, ...]] = {
    "cases": (_CASE, *_FACT),
    "questions": (
        _CASE,
        _LINK,
        text_column("question", "key of the script question"),
        text_column("fact", "key of the fact that it depends on"),
        text_column("text", "the script question"),
        text_column("language", "language of the question"),
    ),
    "prompts": (
        _CASE,
        _LINK,
        text_column("prompt", "key of the script prompt"),
        text_column("fact", "key of the fact that it asks about"),
        text_column("question", "key of its script question, or null"),
        text_column("script", "key of the script it was cut from, or null"),
        text_column("text", "question and script up to the first mention of the object"),
        text_column("separator", "what stands between text and object"),
        Column("offset", "INTEGER", "characters before the object (text and separator)"),
        Column("step", "INTEGER", "number of the step that was cut, from 1, or null"),
        Column("targets", "VARCHAR[]", "the object as mentioned, then the objects it competes with"),
    ),
    "neighbours": (
        _CASE,
        text_column("neighbour", "key of the link"),
        text_column("how", "same_object (as the edit's old object) or near_subject (an object of its own)"),
        Column("distance", "DOUBLE", "distance that chose a near subject, or null"),
        text_column("measure", "what the distance measures, or null"),
        *_FACT,
    ),
}
"""Columns of every table, in order."""

EXTRAS = (
    text_column("extra", "key of the record"),
    text_column("fact", "key of the fact that it belongs to"),
    Column("also", "VARCHAR[]", "keys of further facts that it depends on"),
    text_column("name", "what it is, in the source's words"),
    text_column("content", "its values as JSON"),
)
"""Columns of the table ``extras``, which is there where the sources say something beside the facts."""


def _events(case: EventCase) -> Iterator[tuple[Any, ...]]:
    event, source = case.event, case.event.source
    yield (
        *(case.key, event.key, event.text, event.language, event.type, event.origin, event.template),
        *([filled.role for filled in event.roles], [filled.entity.text for filled in event.roles]),
        *(source.name, source.licence, source.url, source.item, source.date),
    )


def _fact_questions(case: EventCase) -> Iterator[tuple[Any, ...]]:
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
    "fact_questions": _fact_questions,
    "tendency_questions": _tendencies,
}
"""The rows of a case, by table."""


def write_parquet(split: Split, path: Path) -> int:
    """A folder with one Parquet file for each table; returns the number of cases written."""
    with atomic_folder(path) as folder:
        if split.type == FACT:
            write_tables(split.cases, folder, split.extras)
        else:
            write_tables(split.all_cases, folder, split.extras, tables=EVENT_TABLES, rows=EVENT_ROWS)
    return len(split.all_cases)


def tables_of(split: Split) -> dict[str, tuple[Column, ...]]:
    """The tables of a split with their columns."""
    return {**tables_of_type(split.type), **({"extras": EXTRAS} if split.extras else {})}


def tables_of_type(edits: str) -> Mapping[str, tuple[Column, ...]]:
    """The tables of a split of facts, or of events, with their columns; without extras."""
    return TABLES if edits == FACT else EVENT_TABLES


def write_tables(
    cases: Iterable[Any],
    folder: Path,
    extras: Iterable[Extra] = (),
    *,
    tables: Mapping[str, tuple[Column, ...]] = TABLES,
    rows: Mapping[str, Callable[[Any], Iterator[tuple[Any, ...]]]] | None = None,
) -> dict[str, int]:
    """Write ``cases.parquet``, ``questions.parquet`` ... into a folder; returns the rows of each.

    ``tables`` and ``rows`` are those of facts where they are not given. Memory is bounded: rows pass in chunks through
    a DuckDB file in a temporary folder beside the result.

    Raises:
        UserError: the folder is full or cannot be written.
    """
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    counts, makers = dict.fromkeys(tables, 0), _ROWS if rows is None else rows
    beside = ((e.key, e.subject_key, list(e.depends_on), e.name, e.content) for e in extras)
    try:
        with (
            tempfile.TemporaryDirectory(dir=folder, prefix=".tables-") as scratch,
            duckdb.connect(str(Path(scratch) / "t.duckdb"), config={"threads": 1, "memory_limit": _MEMORY}) as db,
        ):
            for name, columns in {**tables, "extras": EXTRAS}.items():
                described = ", ".join(f'"{c.name}" {c.type}' for c in columns)
                db.execute(f"CREATE TABLE {name} ({described})")
            iterator = iter(cases)
            while chunk := list(itertools.islice(iterator, _CHUNK)):
                for name, make in makers.items():
                    chunk_rows = [row for case in chunk for row in make(case)]
                    counts[name] += len(chunk_rows)
                    _insert(db, name, chunk_rows, tables[name])
            while portion := list(itertools.islice(beside, _CHUNK)):
                counts["extras"] = counts.get("extras", 0) + len(portion)
                _insert(db, "extras", portion, EXTRAS)
            for name in counts:
                target = str(folder / f"{name}.parquet").replace("'", "''")
                db.execute(f"COPY {name} TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    except duckdb.Error as error:
        reason = " ".join(str(error).split()).rpartition(": ")[2]  # before it: DuckDB's own file names
        raise UserError(f"the tables cannot be written: {reason[:160]}", where=str(folder)) from None
    return counts


def _insert(db: Any, name: str, rows: Sequence[tuple[Any, ...]], columns: Sequence[Column]) -> None:
    if rows:
        values = [list(column) for column in zip(*rows, strict=True)]
        db.execute(f"INSERT INTO {name} SELECT {', '.join(f'unnest(?::{c.type}[])' for c in columns)}", values)


def _fact(fact: Fact) -> tuple[Any, ...]:
    new, source = fact.new, fact.source
    after = (new.text, list(new.aliases), new.wikidata, new.datatype) if new else (None, [], None, None)
    return (
        *(fact.key, fact.subject.text, list(fact.subject.aliases), fact.subject.wikidata),
        *(fact.relation.id, fact.relation.label, fact.prompt, fact.fact_prompt),
        *(fact.old.text, list(fact.old.aliases), fact.old.wikidata, fact.old.datatype, *after),
        *(fact.change, fact.changed_on, list(fact.paraphrases), list(fact.neighbour_prompts), fact.language),
        *(source.name, source.licence, source.url, source.item, source.date),
    )


def _cases(case: Case) -> Iterator[tuple[Any, ...]]:
    yield (case.key, *_fact(case.fact))


def _questions(case: Case) -> Iterator[tuple[Any, ...]]:
    def of(link: str | None, questions: Iterable[ScriptQuestion]) -> Iterator[tuple[Any, ...]]:
        return ((case.key, link, q.key, q.fact, q.text, q.language) for q in questions)

    yield from of(None, case.questions)
    for neighbour in case.neighbours:
        yield from of(neighbour.link.key, neighbour.questions)


def _prompts(case: Case) -> Iterator[tuple[Any, ...]]:
    def of(link: str | None, prompts: Iterable[ScriptPrompt]) -> Iterator[tuple[Any, ...]]:
        for p in prompts:
            where = (case.key, link, p.key, p.fact, p.question, p.script)
            yield (*where, p.text, p.separator, p.offset, p.step, list(p.targets))

    yield from of(None, case.prompts)
    for neighbour in case.neighbours:
        yield from of(neighbour.link.key, neighbour.prompts)


def _neighbours(case: Case) -> Iterator[tuple[Any, ...]]:
    for n in case.neighbours:
        yield (case.key, n.link.key, n.link.how, n.link.distance, n.link.measure, *_fact(n.fact))


_ROWS: Mapping[str, Callable[[Case], Iterator[tuple[Any, ...]]]] = {
    "cases": _cases,
    "questions": _questions,
    "prompts": _prompts,
    "neighbours": _neighbours,
}
