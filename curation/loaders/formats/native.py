"""Our JSONL and tables of facts, and anybody's tables through a mapping that says which column is what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from curation.files.json_files import write_lines
from curation.loaders.base import FormatReader, InvalidRecord, Loader, Problem, Row, RowItem
from curation.loaders.reading import rows
from curation.loaders.shapes import JSON_TYPES, explain_field, relation_of, rest, template, text_with_content
from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import DataError, UserError
from schemas.core.ids import digest, slug
from schemas.core.records import Key, Record
from schemas.core.registry import check_choice
from schemas.facts import Entity, Fact, Object, Relation, Source

COLUMNS: tuple[str, ...] = ("key", "subject", "subject_aliases", "relation", "prompt", "old", "old_aliases")
COLUMNS += ("new", "new_aliases", "changed_on", "paraphrases", "neighbours", "source", "licence", "language")
NEEDED = ("subject", "relation", "prompt", "old", "new")


def _named(value: Any) -> Any:
    """A name with its aliases, or the name alone."""
    if not isinstance(value, dict):
        return {"text": text_with_content(value).strip()}
    if isinstance(value.get("text"), str):
        text_with_content(value["text"])
    return value


def _relation(value: Any) -> Any:
    """A relation with its id, or its name alone."""
    if isinstance(value, dict):
        return value
    label = text_with_content(value).strip()
    return {"id": slug_id(label), "label": label}


class FactShape(Fact):
    """A fact in its whole form or its short one, in which names stand alone, and key and source may be left out."""

    key: Key = "-"
    subject: Annotated[Entity, BeforeValidator(_named)]
    relation: Annotated[Relation, BeforeValidator(_relation)]
    prompt: Annotated[str, BeforeValidator(text_with_content)]
    old: Annotated[Object, BeforeValidator(_named)]
    new: Annotated[Object | None, BeforeValidator(lambda value: None if value is None else _named(value))] = None
    source: Source = Source(name="-", licence="-")


class NativeJsonl(FormatReader):
    """One JSON object a line.

    Needed are ``subject``, ``relation``, ``prompt`` (with one ``{}``) and ``old``, and ``new`` for a fact to be edited;
    in ``paraphrases``, too, ``{}`` is the subject;
    subject, relation and objects may be strings or whole values with aliases. ``key``, ``source``, ``paraphrases`` and
    ``changed_on`` (makes the change temporal) may be left out. A line with another ``kind`` than ``fact`` is a whole
    record of that kind.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._objects: dict[str, str] = {}

    def make(self, row: Row) -> Iterator[RowItem]:
        """The record of one line."""
        kind = row.data.get("kind", "fact")
        if kind == "fact":
            yield self.fact(row.data)
            return
        from curation.store.reader import KINDS  # here: needs DuckDB, which plain facts do not

        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
        yield KINDS[kind].model_validate({k: v for k, v in row.data.items() if k not in ("kind", "id")})

    def fact(self, data: Mapping[str, Any]) -> Fact:
        """A fact from its whole or its short form.

        One without a key is called after file, relation and subject. Of two such facts that contradict each other both
        stay: the second has its objects' digest behind its key.
        """
        fields = {k: v for k, v in data.items() if k not in ("kind", "id") and (v or k not in ("key", "change"))}
        change = "none" if data.get("new") is None else "temporal" if data.get("changed_on") else "counterfactual"
        try:
            short = FactShape.model_validate({"change": change, **fields})
        except ValidationError as error:
            malformed = error.errors()[0]["type"] in ("missing", *JSON_TYPES)
            raise (ValueError if malformed else InvalidRecord)(explain_field(error)) from None
        parts = {**short.__dict__}
        if "source" not in data:
            parts["source"] = Source(name=self.named.name, licence="not stated")
        if isinstance(data.get("subject"), str):  # a whole value is as it stands
            parts["paraphrases"] = tuple(_filled(text, short.subject.text) for text in short.paraphrases)
        if not data.get("key"):
            parts["key"] = f"{slug(self.named.stem)}/{_key_part(short.relation.id)}/{_key_part(short.subject.text)}"
        fact = Fact.model_validate(parts)
        if data.get("key"):
            return fact
        objects_digest = digest((fact.old.text.casefold(), fact.new.text.casefold() if fact.new else ""))
        if self._objects.setdefault(fact.key, objects_digest) == objects_digest:
            return fact
        return fact.model_copy(update={"key": f"{fact.key}~{objects_digest[:6]}"})


def _filled(paraphrase: str, subject: str) -> str:
    """A paraphrase with its gap filled; one that names the subject has none."""
    return paraphrase if subject in paraphrase else paraphrase.replace("{}", subject)


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


# ---- tables -----------------------------------------------------------------------------------------------------


class NativeCsv(NativeJsonl):
    """A table with a header: subject, relation, prompt, old, new (more: ``COLUMNS``); lists are split by ``|``."""

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact of one line."""
        yield self.fact(_from_cells(row.data))


def _own_columns(path: Path) -> Iterator[Row | Problem]:
    """Rows of a table whose columns are ours.

    Raises:
        DataError: a column is missing or unknown.
    """
    yield from rows(path, check_header=partial(_check_columns, f"{path}, line 1"))


def _check_columns(where: str, header: Sequence[str]) -> None:
    allowed = ", ".join(COLUMNS)
    if missing := [name for name in NEEDED if name not in header]:
        fix = "add it, or map your columns: --map old=answer"
        raise DataError(f"the column '{missing[0]}' is missing", where=where, allowed=allowed, fix=fix)
    if unknown := [name for name in header if name not in COLUMNS]:
        raise DataError(f"unknown column '{unknown[0]}'", where=where, allowed=allowed)


def _from_cells(cells: Mapping[str, Any]) -> dict[str, Any]:
    """A short form made of plain cells: names with their aliases, lists split by ``|`` where they are strings."""
    data = {k: cells[k] for k in ("relation", "prompt")}
    for name in ("subject", "old", "new"):
        value = cells.get(name, "") if name == "new" else cells[name]
        if isinstance(value, str) and (value or name != "new"):
            value = {"text": value.strip(), "aliases": _split(cells.get(f"{name}_aliases") or "")}
        data |= {name: value} if value else {}
    subject = cells["subject"] if isinstance(cells["subject"], str) else ""
    data["paraphrases"] = [_filled(text, subject) for text in _split(cells.get("paraphrases") or "")]
    subjects = _split(cells.get("neighbours") or "")  # others with the same old object
    data["neighbour_prompts"] = [cells["prompt"].replace("{}", subject) for subject in subjects]
    if cells.get("source") or cells.get("licence"):
        data["source"] = {"name": cells.get("source") or "unnamed", "licence": cells.get("licence") or "not stated"}
    return data | {name: cells[name] for name in ("key", "changed_on", "language") if cells.get(name)}


def _split(cell: str | list[str]) -> list[str]:
    parts = cell.split("|") if isinstance(cell, str) else cell
    return [part.strip() for part in parts if part.strip()]


class TableMapping(Options):
    """Which column of a foreign file is which of ours.

    Attributes:
        columns: Our name to theirs; a dot goes into an object ("target.str"). Ours that stand in the file under the
            same name need no entry.
        values: Our name to a text that holds for every record, such as a relation or a prompt.
        source: Name, licence, address of the data.
    """

    columns: dict[str, str] = Field(default_factory=dict)
    values: dict[str, str] = Field(default_factory=dict)
    source: Source | None = None


def read_mapping(path: Path | None = None, settings: Sequence[str] = ()) -> TableMapping:
    """A mapping from a TOML file (tables ``columns``, ``values``, ``source``) and ``name=column`` settings over it.

    Raises:
        UserError: a setting without ``=``, or an unknown name.

    Example:
        >>> read_mapping(settings=["old=answer"]).columns
        {'old': 'answer'}
    """
    data: dict[str, Any] = read_toml(path) if path else {}
    columns = dict(data.get("columns", {}))
    for setting in settings:
        name, equals, column = setting.partition("=")
        if not equals or not name.strip() or not column.strip():
            raise UserError(f"--map takes name=column, got '{setting}'", fix="for example --map old=answer")
        columns[name.strip()] = column.strip()
    for name in (*columns, *data.get("values", {})):
        check_choice(name, COLUMNS, "column of ours")
    return validate(TableMapping, {**data, "columns": columns}, where=str(path or "--map"))


class MappedTable(NativeJsonl):
    """Anybody's table or JSON records; what the mapping does not name is kept in extras."""

    def __init__(self, mapping: TableMapping, path: Path) -> None:
        super().__init__(path)
        self._mapping = mapping

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact of one record, and an extra."""
        mapping = self._mapping
        cells: dict[str, Any] = dict(mapping.values)
        used: set[str] = set()
        for name in COLUMNS:
            column = mapping.columns.get(name, name)
            cell = _cell_at(row.data, column)
            if cell is None and name in mapping.columns and column.split(".")[0] not in row.data:
                raise KeyError(column)
            if cell is not None:
                _check_plain(name, column, cell)
                cells[name] = _with_aliases(cell) if name in ("subject", "old", "new") else cell
                used.add(column.split(".")[0])
        if "prompt" in cells and "subject" in cells and cells["prompt"].count("{}") != 1:
            cells["prompt"] = template(cells["prompt"].strip(), str(cells["subject"]).strip())
        if "relation" not in cells and "prompt" in cells:
            cells["relation"] = {"id": relation_of(cells["prompt"]), "label": cells["prompt"]}
        data = _from_cells(cells)
        if mapping.source is not None:
            data["source"] = mapping.source.model_dump()
        fact = self.fact(data)
        yield fact
        yield from rest(fact.key, row.data, used)


def _check_plain(name: str, column: str, value: Any) -> None:
    """Refuse an object where a text belongs, unless it is one of ours ({"text": ...}, {"id": ...})."""
    if isinstance(value, list):
        if any(isinstance(one, dict) for one in value):
            raise InvalidRecord(f"the column '{column}' holds a list of objects, a text or a list of texts is needed")
    elif isinstance(value, dict) and not {"text", "id"} & value.keys():
        fields, first = ", ".join(list(value)[:5]), next(iter(value), "FIELD")
        what = f"the column '{column}' holds an object with the fields {fields}, a text is needed"
        raise InvalidRecord(f"{what}; name one of them: --map {name}={column}.{first}")


def _with_aliases(value: Any) -> Any:
    """A list of names as a text with aliases; numbers as text."""
    if isinstance(value, list):
        first, *others = [text for one in value if isinstance(one, str) and (text := one.strip())] or [""]
        return {"text": first, "aliases": others}
    return str(value) if isinstance(value, int | float) else value


def _cell_at(data: dict[str, Any], column: str) -> Any:
    if column in data:
        return data[column]
    value: Any = data
    for part in column.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def load_table(path: Path, named: Path | None = None) -> Any:
    """Refuses: a foreign table needs its mapping.

    Raises:
        DataError: always; it says how to give one.
    """
    raise DataError("a table of unknown columns needs a mapping", where=str(path), fix="for example --map old=answer")


load_jsonl = Loader("jsonl", NativeJsonl)
load_csv = Loader("csv", NativeCsv, read=_own_columns)


# ---- writing ----------------------------------------------------------------------------------------------------


def write_records(records: Iterable[Record], path: Path) -> int:
    """Write records as our JSONL: one object a line, with its kind; the loader ``jsonl`` reads them back unchanged.

    Returns:
        The number of records written.

    Raises:
        UserError: the file cannot be written.
    """
    return write_lines(({"kind": record.kind, **record.payload()} for record in records), path)
