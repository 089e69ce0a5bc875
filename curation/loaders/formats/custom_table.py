"""Anybody's CSV or JSON records: a mapping says which column is what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from curation.loaders.base import FormatReader, InvalidRecord, Loader, Problem, Row, RowItem
from curation.loaders.fields import relation_of, rest, strings, template
from curation.loaders.formats.native import COLUMNS, DerivedKeys, csv_rows, from_cells
from curation.loaders.reading import rows
from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import DataError, UserError
from schemas.core.registry import suggest
from schemas.facts import Source


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

    @field_validator("columns", "values")
    @classmethod
    def _check_column_names(cls, names: dict[str, str]) -> dict[str, str]:
        for name in names:
            if name not in COLUMNS:
                near = suggest(name, list(COLUMNS))
                hint = f"; did you mean '{near}'?" if near else ""
                raise ValueError(f"'{name}' is none of our columns ({', '.join(COLUMNS)}){hint}")
        return names


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
    return validate(TableMapping, {**data, "columns": columns}, where=str(path or "--map"))


def table_loader(mapping: TableMapping) -> Loader:
    """A loader for one mapping; what it does not name is kept in extras."""

    class Mapped(FormatReader):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self._keys = DerivedKeys()

        def make(self, row: Row) -> Iterator[RowItem]:
            yield from _make_items(row, mapping, self.named, self._keys)

    return Loader("table", Mapped, read=_read)


def _read(path: Path) -> Iterator[Row | Problem]:
    return csv_rows(path) if path.suffix.lower() in (".csv", ".tsv") else rows(path)


def _make_items(row: Row, mapping: TableMapping, path: Path, keys: DerivedKeys) -> Iterator[RowItem]:
    cells: dict[str, Any] = dict(mapping.values)
    used: set[str] = set()
    for name in COLUMNS:
        column = mapping.columns.get(name, name)
        cell = _cell_at(row.data, column)
        if cell is None and name in mapping.columns and column.split(".")[0] not in row.data:
            raise KeyError(column)
        if cell is not None:
            _check_plain(name, column, cell)
            cells[name] = cell
            used |= {column.split(".")[0]}
    if "prompt" in cells and "subject" in cells and cells["prompt"].count("{}") != 1:
        cells["prompt"] = template(cells["prompt"].strip(), str(cells["subject"]).strip())
    if "relation" not in cells and "prompt" in cells:
        cells["relation"] = {"id": relation_of(cells["prompt"]), "label": cells["prompt"]}
    cells = {
        name: _join_aliases(value) if name in ("subject", "old", "new") else value for name, value in cells.items()
    }
    data = from_cells(cells)
    if mapping.source is not None:
        data["source"] = mapping.source.model_dump()
    fact = keys.of(data, path)
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


def _join_aliases(value: Any) -> Any:
    """A list of names as a text with aliases; numbers as text."""
    if isinstance(value, list):
        first, *others = list(strings(value)) or [""]
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
