"""A split as flat Parquet tables, written by DuckDB chunk by chunk: cases, questions, prompts, neighbours.

Nothing of a case is lost in them; keys join the tables.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from curation.files.atomic import atomic_folder
from curation.splits.split_file import Split
from curation.store.writer import chunks
from schemas.cases import FACT
from schemas.core.errors import UserError
from schemas.extras import Extra
from schemas.facts import Neighbour


class Column(NamedTuple):
    """A column: its name, its DuckDB type (``[]``: a list), what is in it, and where a row has it (``record.text``).

    A path that leads nowhere is null; one through a list is the list of what its members have there. A function in its
    place is given the row.
    """

    name: str
    type: str
    about: str
    path: str | Callable[[Any], Any] = ""


def source_columns(what: str) -> tuple[Column, ...]:
    """Where a record comes from, under what licence.

    Args:
        what: What comes from there, in words.

    Example:
        >>> source_columns("the event")[0].about
        'where the event comes from'
    """
    return (
        text_column("source", f"where {what} comes from", "record.source.name"),
        text_column("licence", "licence that the source states", "record.source.licence"),
        text_column("source_url", "address of the source, or null", "record.source.url"),
        text_column("source_item", "the record in the source, or null", "record.source.item"),
        text_column("source_date", "date of the source, or null", "record.source.date"),
    )


def text_column(name: str, description: str, path: str = "") -> Column:
    """A column of texts.

    Example:
        >>> text_column("case", "key of the case").type
        'VARCHAR'
    """
    return Column(name, "VARCHAR", description, path)


_MEMORY = "512MB"


_CASE = text_column("case", "key of the case", "case.key")
_SCOPE = text_column(
    "scope", "in: the answer after the edit is the given one; out: the answer must stay what it was", "record.scope"
)

EVENT_TABLES: Mapping[str, tuple[Column, ...]] = {
    "events": (
        _CASE,
        text_column("event", "key of the event", "record.key"),
        text_column("text", "what happened: the edit", "record.text"),
        text_column("language", "language of the text", "record.language"),
        text_column("type", "event type or topic", "record.type"),
        text_column("origin", "template, generated, written or fact", "record.origin"),
        text_column("template", "name of the template, or null", "record.template"),
        Column("roles", "VARCHAR[]", "roles of the template", "record.roles.role"),
        Column("entities", "VARCHAR[]", "the entities that fill them, in the same order", "record.roles.entity.text"),
        *source_columns("the event"),
    ),
    "fact_questions": (
        _CASE,
        text_column("question", "key of the question", "record.key"),
        text_column("event", "key of the event", "record.event"),
        text_column("text", "the question", "record.text"),
        _SCOPE,
        text_column("subject", "what it asks about, or null", "record.subject.text"),
        Column("subject_aliases", "VARCHAR[]", "other names of it", "record.subject.aliases"),
        text_column("relation", "Wikidata property id, or a name", "record.relation.id"),
        text_column("relation_label", "the relation in words", "record.relation.label"),
        text_column(
            "answer", "the right answer; unknown: the old one is gone and no new one is given", "record.answer.text"
        ),
        Column("answer_aliases", "VARCHAR[]", "other names of the answer", "record.answer.aliases"),
        text_column("answer_wikidata", "Wikidata id of the answer, or null", "record.answer.wikidata"),
        Column("background", "BOOLEAN", "whether world knowledge beside the event is needed", "record.background"),
        Column("path", "VARCHAR[]", "relations that lead from the event's entity to the answer", "record.path"),
        Column(
            "background_questions",
            "VARCHAR[]",
            "questions for that knowledge, asked without the event",
            "record.background_questions.text",
        ),
        Column(
            "background_answers",
            "VARCHAR[]",
            "their answers, in the same order",
            "record.background_questions.answer.text",
        ),
    ),
    "tendency_questions": (
        _CASE,
        text_column("question", "key of the question", "record.key"),
        text_column("event", "key of the event", "record.event"),
        text_column("text", "the question", "record.text"),
        _SCOPE,
        Column("options", "VARCHAR[]", "what stands behind (A), (B) and (C)", "record.options"),
        text_column("answer", "letter of the right option", "record.answer"),
        Column(
            "about_event_subject",
            "BOOLEAN",
            "whether it asks about the event's own subject, or null",
            "record.about_event_subject",
        ),
    ),
}
"""Columns of every table, in order."""

_FACT = (
    text_column("fact", "key of the fact", "record.key"),
    text_column("subject", "subject", "record.subject.text"),
    Column("subject_aliases", "VARCHAR[]", "other names of the subject", "record.subject.aliases"),
    text_column("subject_wikidata", "Wikidata id of the subject, or null", "record.subject.wikidata"),
    text_column("relation", "Wikidata property id, or a name", "record.relation.id"),
    text_column("relation_label", "the relation in words", "record.relation.label"),
    text_column(
        "prompt", "fact prompt with one {} for the subject; the object follows after one space", "record.prompt"
    ),
    text_column("fact_prompt", "the same with the subject filled in", "record.fact_prompt"),
    text_column("old", "old object: what the source says before the edit", "record.old.text"),
    Column("old_aliases", "VARCHAR[]", "other names of the old object", "record.old.aliases"),
    text_column("old_wikidata", "Wikidata id of the old object, or null", "record.old.wikidata"),
    text_column("old_datatype", "entity, or the kind of literal", "record.old.datatype"),
    text_column("new", "new object; null for facts that are not to be edited", "record.new.text"),
    Column("new_aliases", "VARCHAR[]", "other names of the new object", "record.new.aliases"),
    text_column("new_wikidata", "Wikidata id of the new object, or null", "record.new.wikidata"),
    text_column(
        "new_datatype", "entity, or the kind of literal; null where there is no new object", "record.new.datatype"
    ),
    text_column("change", "counterfactual, temporal or none", "record.change"),
    text_column("changed_on", "ISO date of a temporal change, as exact as it is known", "record.changed_on"),
    Column("paraphrases", "VARCHAR[]", "other fact prompts, filled in", "record.paraphrases"),
    Column(
        "neighbour_prompts",
        "VARCHAR[]",
        "plain prompts of other subjects that have the same old object",
        "record.neighbour_prompts",
    ),
    text_column("language", "language of the prompts, such as en", "record.language"),
    *source_columns("the fact"),
)
_LINK = text_column("neighbour", "key of the neighbour's link; null for what asks about the edited fact", "link.key")

TABLES: Mapping[str, tuple[Column, ...]] = {
    "cases": (_CASE, *_FACT),
    "questions": (
        _CASE,
        _LINK,
        text_column("question", "key of the script question", "record.key"),
        text_column("fact", "key of the fact that it depends on", "record.fact"),
        text_column("text", "the script question", "record.text"),
        text_column("language", "language of the question", "record.language"),
    ),
    "prompts": (
        _CASE,
        _LINK,
        text_column("prompt", "key of the script prompt", "record.key"),
        text_column("fact", "key of the fact that it asks about", "record.fact"),
        text_column("question", "key of its script question, or null", "record.question"),
        text_column("script", "key of the script it was cut from, or null", "record.script"),
        text_column("text", "question and script up to the first mention of the object", "record.text"),
        text_column("separator", "what stands between text and object", "record.separator"),
        Column("offset", "INTEGER", "characters before the object (text and separator)", "record.offset"),
        Column("step", "INTEGER", "number of the step that was cut, from 1, or null", "record.step"),
        Column("targets", "VARCHAR[]", "the object as mentioned, then the objects it competes with", "record.targets"),
    ),
    "neighbours": (
        _CASE,
        text_column("neighbour", "key of the link", "link.key"),
        text_column("how", "same_object (as the edit's old object) or near_subject (an object of its own)", "link.how"),
        Column("distance", "DOUBLE", "distance that chose a near subject, or null", "link.distance"),
        text_column("measure", "what the distance measures, or null", "link.measure"),
        *_FACT,
    ),
}
"""Columns of every table, in order."""

EXTRAS = (
    text_column("extra", "key of the record", "key"),
    text_column("fact", "key of the fact that it belongs to", "subject_key"),
    Column("also", "VARCHAR[]", "keys of further facts that it depends on", "depends_on"),
    text_column("name", "what it is, in the source's words", "name"),
    text_column("content", "its values as JSON", "content"),
)
"""Columns of the table ``extras``, which is there where the sources say something beside the facts."""


@dataclass(frozen=True)
class _Part:
    """A row: a record of a case, and the link of the neighbour that it belongs to (None: to the edited fact)."""

    case: Any
    record: Any
    link: Neighbour | None = None


def _parts(name: str) -> Callable[[Any], Iterator[_Part]]:
    """The records that a case has under a name, then those of its neighbours."""

    def rows(case: Any) -> Iterator[_Part]:
        yield from (_Part(case, record) for record in getattr(case, name))
        for near in getattr(case, "neighbours", ()):
            yield from (_Part(case, record, near.link) for record in getattr(near, name))

    return rows


_ROWS: Mapping[str, Callable[[Any], Iterable[_Part]]] = {
    "cases": lambda case: [_Part(case, case.fact)],
    "questions": _parts("questions"),
    "prompts": _parts("prompts"),
    "neighbours": lambda case: [_Part(case, near.fact, near.link) for near in case.neighbours],
    "events": lambda case: [_Part(case, case.event)],
    "fact_questions": _parts("facts"),
    "tendency_questions": _parts("tendencies"),
}
"""The rows of a case, by table."""


def values_of(row: Any, columns: Iterable[Column]) -> tuple[Any, ...]:
    """What a row has in its columns."""
    return tuple(_value_of(row, column) for column in columns)


def _value_of(row: Any, column: Column) -> Any:
    if callable(column.path):
        return column.path(row)
    value = row
    for name in column.path.split("."):
        several = isinstance(value, tuple | list)
        value = [getattr(one, name) for one in value] if several else getattr(value, name, None)
    return list(value or ()) if column.type.endswith("[]") else value


def write_parquet(split: Split, path: Path) -> int:
    """A folder with one Parquet file for each table; returns the number of cases written."""
    with atomic_folder(path) as folder:
        tables = tables_of(split)
        tables.pop("extras", None)
        write_tables(split.all_cases, folder, split.extras, tables=tables)
    return len(split.all_cases)


def tables_of(split: Split) -> dict[str, tuple[Column, ...]]:
    """The tables of a split with their columns; where its header lists parts, a case has the column ``part``."""
    tables = dict(TABLES if split.type == FACT else EVENT_TABLES)
    if split.type == FACT and (parts := parts_of(split)):
        names = " or ".join(dict.fromkeys(parts.values()))
        part = Column("part", "VARCHAR", f"part of the split: {names}", lambda row: parts.get(row.case.key))
        tables["cases"] = (*tables["cases"], part)
    return {**tables, **({"extras": EXTRAS} if split.extras else {})}


def parts_of(split: Split) -> dict[str, str]:
    """The part that a case belongs to by the split's header, by the case's key."""
    listed = split.header.get("parts", {})
    keys = {case.key for case in split.all_cases} if listed else set()
    return {key: name for name, of in listed.items() if isinstance(of, list) for key in of if key in keys}


def write_tables(
    cases: Iterable[Any],
    folder: Path,
    extras: Iterable[Extra] = (),
    *,
    tables: Mapping[str, tuple[Column, ...]] = TABLES,
    rows: Mapping[str, Callable[[Any], Iterator[tuple[Any, ...]]]] | None = None,
) -> dict[str, int]:
    """Write ``cases.parquet``, ``questions.parquet`` ... into a folder; returns the rows of each.

    ``tables`` are those of facts where they are not given; ``rows`` make the values of a case, by table, where the
    columns have no paths. Memory is bounded: rows pass in chunks through a DuckDB file in a temporary folder beside the
    result.

    Raises:
        UserError: the folder is full or cannot be written.
    """
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    counts, beside = dict.fromkeys(tables, 0), (values_of(extra, EXTRAS) for extra in extras)
    try:
        with (
            tempfile.TemporaryDirectory(dir=folder, prefix=".tables-") as scratch,
            duckdb.connect(str(Path(scratch) / "t.duckdb"), config={"threads": 1, "memory_limit": _MEMORY}) as db,
        ):
            for name, columns in {**tables, "extras": EXTRAS}.items():
                described = ", ".join(f'"{c.name}" {c.type}' for c in columns)
                db.execute(f"CREATE TABLE {name} ({described})")
            for chunk in chunks(cases):
                for name, columns in tables.items():
                    if rows is not None:
                        chunk_rows = [row for case in chunk for row in rows[name](case)]
                    else:
                        chunk_rows = [values_of(part, columns) for case in chunk for part in _ROWS[name](case)]
                    counts[name] += len(chunk_rows)
                    _insert(db, name, chunk_rows, columns)
            for portion in chunks(beside):
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
