"""Our JSONL and CSV of facts: the whole record, or a short form with plain strings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from curation.loaders.base import FormatReader, Loader, Problem, Row, RowItem
from curation.loaders.fields import FieldValueError, text_of
from curation.loaders.reading import LIMIT, NOT_UTF8, start
from schemas.core.errors import DataError, UserError
from schemas.core.ids import digest, slug
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.text.counting import counted
from schemas.text.spreadsheet_cells import check_divider

COLUMNS: tuple[str, ...] = (
    "key",
    "subject",
    "subject_aliases",
    "relation",
    "prompt",
    "old",
    "old_aliases",
    "new",
    "new_aliases",
)
COLUMNS += ("changed_on", "paraphrases", "source", "licence", "language")
NEEDED = ("subject", "relation", "prompt", "old", "new")


class NativeJsonl(FormatReader):
    """One JSON object a line.

    Needed are ``subject``, ``relation``, ``prompt`` (with one ``{}``) and ``old``, and ``new`` for a fact to be edited;
    subject, relation and objects may be strings or whole values with aliases. ``key``, ``source``, ``paraphrases`` and
    ``changed_on`` (makes the change temporal) may be left out. A line with another ``kind`` than ``fact`` is a whole
    record of that kind.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._keys = DerivedKeys()

    def make(self, row: Row) -> Iterator[RowItem]:
        """The record of one line."""
        kind = row.data.get("kind", "fact")
        yield self._keys.of(row.data, self.named) if kind == "fact" else _read_record(kind, row.data)


class NativeCsv(FormatReader):
    """A table with a header: subject, relation, prompt, old, new (more: ``COLUMNS``); lists are split by ``|``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._keys = DerivedKeys()

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact of one line."""
        yield self._keys.of(from_cells(row.data), self.named)


class DerivedKeys:
    """Facts of one file whose key is made of file, relation and subject: of two that contradict each other both stand.

    The first has the plain key; one with another old or new object has its objects' digest behind it.
    """

    def __init__(self) -> None:
        self._objects: dict[str, str] = {}

    def of(self, data: dict[str, Any], path: Path) -> Fact:
        """The fact of a short or whole form, as ``fact_of`` makes it."""
        fact = fact_of(data, path)
        if data.get("key"):
            return fact
        objects_digest = digest((fact.old.text.casefold(), fact.new.text.casefold() if fact.new else ""))
        if self._objects.setdefault(fact.key, objects_digest) == objects_digest:
            return fact
        return fact.model_copy(update={"key": f"{fact.key}~{objects_digest[:6]}"})


@cache
def _kinds() -> dict[str, type[Record]]:
    from curation.store.reader import KINDS  # here: needs DuckDB, which plain facts do not

    return KINDS


def _read_record(kind: Any, data: dict[str, Any]) -> Record:
    kinds = _kinds()
    if kind not in kinds:
        raise ValueError(f"unknown kind {kind!r}; known: {', '.join(kinds)}")
    fields = data.copy()
    fields.pop("kind", None)
    fields.pop("id", None)
    return kinds[kind].model_validate(fields)


def csv_rows(path: Path, *, limit: int = LIMIT) -> Iterator[Row | Problem]:
    """Lines of a comma- or (``.tsv``) tab-separated table as dictionaries; the first line names the columns.

    Raises:
        UserError: absent or unreadable.
        DataError: empty, packed, in UTF-16 or UTF-32.
    """
    try:
        with open(path, "rb") as binary:
            start(binary, path)
            with io.TextIOWrapper(binary, encoding="utf-8", errors="surrogateescape", newline="") as text:
                yield from _table(text, path, limit=limit)
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None


def _table(text: Iterator[str], path: Path, *, limit: int) -> Iterator[Row | Problem]:
    before = csv.field_size_limit(limit)
    reader = csv.reader(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            raise DataError("the file is empty", where=str(path), fix="see the formats: scedit data formats")
        check_divider(header, path)
        if twice := [name for name in header if header.count(name) > 1]:
            raise DataError(f"the column '{twice[0]}' stands twice", where=f"{path}, line 1")
        number = 0
        while True:
            first = reader.line_num + 1
            try:
                values = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                cut = "unexpected end" in str(error)
                what = "the file is cut off inside a quoted cell, or a quotation mark is missing" if cut else str(error)
                yield Problem(f"{path}, line {first}", "truncated" if cut else "malformed", what)
                continue
            if any(v.strip() for v in values):
                number += 1
                yield _cells(header, values, Row(f"{path}, line {reader.line_num}", {}, number))
    finally:
        csv.field_size_limit(before)


def _cells(header: list[str], values: list[str], row: Row) -> Row | Problem:
    if len(values) != len(header):
        return row.problem("malformed", f"{counted(len(values), 'cell')} under {counted(len(header), 'column')}")
    try:
        "".join(values).encode("utf-8")
    except UnicodeEncodeError:
        return row.problem("malformed", NOT_UTF8)
    return row._replace(data=dict(zip(header, (v.strip() for v in values), strict=True)))


def _own_columns(path: Path) -> Iterator[Row | Problem]:
    """Rows of a table whose columns are ours.

    Raises:
        DataError: a column is missing or unknown.
    """
    header = csv_header(path)
    check_divider(header, path)
    if missing := [name for name in NEEDED if name not in header]:
        raise DataError(
            f"the column '{missing[0]}' is missing",
            where=f"{path}, line 1",
            allowed=", ".join(COLUMNS),
            fix="add it, or map your columns: --map old=answer",
        )
    if unknown := [name for name in header if name not in COLUMNS]:
        raise DataError(f"unknown column '{unknown[0]}'", where=f"{path}, line 1", allowed=", ".join(COLUMNS))
    yield from csv_rows(path)


def csv_header(path: Path) -> list[str]:
    """The names in a table's first line.

    Raises:
        UserError: absent or unreadable.
        DataError: packed, in UTF-16 or UTF-32.
    """
    try:
        with open(path, "rb") as binary:
            start(binary, path)
            with io.TextIOWrapper(binary, encoding="utf-8", errors="surrogateescape", newline="") as text:
                reader = csv.reader(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
                return [name.strip() for name in next(reader, [])]
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except (OSError, csv.Error) as error:
        raise UserError(f"cannot be read: {error}", where=str(path)) from None


def from_cells(cells: Mapping[str, Any]) -> dict[str, Any]:
    """A short form made of plain cells: names with their aliases, lists split by ``|`` where they are strings."""

    def entity(name: str) -> Any:
        if not isinstance(cells[name], str):
            return cells[name]
        return {"text": cells[name].strip(), "aliases": _split(cells.get(f"{name}_aliases") or "")}

    data: dict[str, Any] = {"subject": entity("subject"), "old": entity("old"), "relation": cells["relation"]}
    data |= {"prompt": cells["prompt"], "paraphrases": _split(cells.get("paraphrases") or "")}
    if cells.get("new"):
        data["new"] = entity("new")
    if cells.get("source") or cells.get("licence"):
        data["source"] = {"name": cells.get("source") or "unnamed", "licence": cells.get("licence") or "not stated"}
    return data | {name: cells[name] for name in ("key", "changed_on", "language") if cells.get(name)}


def _split(cell: str | list[str]) -> list[str]:
    parts = cell.split("|") if isinstance(cell, str) else cell
    return [part.strip() for part in parts if part.strip()]


def fact_of(data: dict[str, Any], path: Path) -> Fact:
    """A fact from its whole or its short form.

    Raises:
        KeyError: a needed field is missing.
        ValueError: a needed field is empty, or no text and no object.
    """
    subject, old = _named(Entity, data, "subject"), _named(Object, data, "old")
    new = None if data.get("new") is None else _named(Object, data, "new")
    relation = data["relation"]
    if not isinstance(relation, dict):
        label = text_of(data, "relation")
        relation = {"id": slug_id(label), "label": label}
    relation = Relation.model_validate(relation)
    text_of(data, "prompt")
    change = "none" if new is None else "temporal" if data.get("changed_on") else "counterfactual"
    data_of_fact = {
        **{k: v for k, v in data.items() if k not in ("kind", "id")},
        "subject": subject,
        "relation": relation,
        "old": old,
        "new": new,
        "change": data.get("change") or change,
        "key": data.get("key") or f"{slug(path.stem)}/{_key_part(relation.id)}/{_key_part(subject.text)}",
        "source": Source.model_validate(data["source"])
        if "source" in data
        else Source(name=path.name, licence="not stated"),
    }
    return Fact.model_validate(data_of_fact)


def slug_id(text: str) -> str:
    """A relation's id: a property id stays as it is, other names become a slug."""
    return text if text[:1] == "P" and text[1:].isdigit() else _key_part(text)


def _key_part(text: str) -> str:
    """A slug; of a text without a letter or digit, part of its digest: two such texts are two things.

    Example:
        >>> _key_part("Côte d'Ivoire"), _key_part("???") == _key_part("!!!")
        ('cote-d-ivoire', False)
    """
    return slug(text) if any(char.isalnum() for char in text) else f"x-{digest(text)[:6]}"


def _named(kind: type[Entity], data: Mapping[str, Any], name: str) -> Entity:
    """A subject or object: an object with its text, or the text alone."""
    value = data[name]
    if not isinstance(value, dict):
        return kind.model_validate({"text": text_of(data, name)})
    if isinstance(value.get("text"), str) and not value["text"].strip():
        raise FieldValueError(name, "must be a text with something in it, it is empty")
    return kind.model_validate(value)


load_jsonl = Loader("jsonl", NativeJsonl)
load_csv = Loader("csv", NativeCsv, read=_own_columns)
