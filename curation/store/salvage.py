"""What is still readable of a damaged store, saved to a new one; what is not is listed by table, place and key."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from curation.files.atomic import atomic_path
from curation.store.connection import limits
from curation.store.damage import (
    BLOCK,
    HEADER,
    bad_blocks,
    broken_tables,
    checksum,
    checksum_fits,
    is_damage,
    readable_headers,
)
from curation.store.reader import KINDS
from curation.store.store import Store
from schemas.core.errors import StoreError, UserError
from schemas.core.records import Record
from schemas.lineage import Lineage
from schemas.runs import CaseResult
from schemas.text.counting import counted

STEP = 2048
"""Rows that DuckDB reads at a time: less than that is not read when one of them cannot be."""
_COLUMNS = {
    "records": ("id", "kind", "key", "current", "body"),
    "lineage": ("item_id", "stage", "body"),
    "splits": ("name", "header"),
    "split_cases": ("split", "position", "case_id"),
    "results": ("run", "case_key", "body"),
    "sources": ("name", "file", "digest", "named", "imported_at"),
    "source_items": ("source", "kind", "key", "id"),
}


class Loss(NamedTuple):
    """Something that could not be saved: the table, what it is (a key where that could be read), and why."""

    table: str
    what: str
    reason: str


class Salvage(NamedTuple):
    """What was saved, by table, and what was not."""

    saved: dict[str, int]
    lost: tuple[Loss, ...]


class Integrity(NamedTuple):
    """What a look at every block found: numbers of bad blocks, tables that cannot be read (None: not one can)."""

    blocks: tuple[int, ...]
    tables: tuple[str, ...] | None


def look(path: Path) -> Integrity:
    """Read every block of a store's file and every row of its tables; nothing is written.

    Raises:
        UserError: there is no such file.
    """
    if not path.is_file():
        raise UserError("there is no such store", where=str(path))
    return Integrity(bad_blocks(path), broken_tables(path, limits(path)))


def salvage(path: Path, target: Path) -> Salvage:
    """Save every readable record, line of lineage, split and result of a damaged store to a new one.

    Args:
        path: The damaged store; it stays as it is.
        target: The new store.

    Raises:
        UserError: the target exists, or there is no such file.
        StoreError: the file's beginning or its catalogue is lost, so that no table can be found.
    """
    if target.exists():
        raise UserError("the store exists already", where=str(target), fix="name another file")
    if not path.is_file():
        raise UserError("there is no such store", where=str(path))
    with (
        tempfile.TemporaryDirectory(prefix="scedit-salvage-") as folder,
        atomic_path(target, "the store") as partial,
        _Source(path, Path(folder)) as source,
        Store.open(partial, create=True) as store,
    ):
        return _Rescue(source, store).run()


class _Source:
    """A damaged file, opened again after each fault: DuckDB ends a connection that met one."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self._folder = path, folder
        self._db: Any = None
        self.one_header = False
        if not any(self._open_with(place) for place in self._places()):
            raise StoreError(
                "the beginning of the file or its catalogue is lost, and nothing can be found in it without",
                where=str(path),
                fix="restore a backup",
            )

    def __enter__(self) -> _Source:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(duckdb.Error):
            self._db.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]] | None:
        """The rows of a statement; None where they cannot be read."""
        try:
            rows: list[tuple[Any, ...]] = self._db.execute(sql).fetchall()
        except duckdb.CatalogException:
            return []
        except duckdb.Error as error:
            if not is_damage(error):
                raise
            self._open_with(self.path)
            return None
        return rows

    def _open_with(self, path: Path) -> bool:
        with contextlib.suppress(duckdb.Error):
            if self._db is not None:
                self._db.close()
        try:
            self._db = duckdb.connect(str(path), read_only=True, config=limits(self._folder / "s.duckdb"))
            self._db.execute("SELECT table_name FROM information_schema.tables").fetchall()
        except duckdb.Error:
            self._db = None
            return False
        self.path = path
        return True

    def _places(self) -> Iterator[Path]:
        """The file, then copies of it in which what keeps DuckDB from opening it is mended, one thing after another."""
        yield self.path
        copy = self._copy()
        yield copy
        bad = bad_blocks(copy) if readable_headers(copy) else None
        yield self._new_head()
        if self._double_header():
            yield copy
        for number in (
            bad_blocks(copy) if bad is None else bad
        ):  # the catalogue's own block: what hangs on it proves itself by its id
            with open(copy, "r+b") as file:
                file.seek(3 * HEADER + number * BLOCK)
                data = file.read(BLOCK)
                if len(data) < BLOCK:
                    continue
                file.seek(3 * HEADER + number * BLOCK)
                file.write(checksum(data[8:]).to_bytes(8, "little"))
            yield copy
            with open(copy, "r+b") as file:
                file.seek(3 * HEADER + number * BLOCK)
                file.write(data)

    def _copy(self) -> Path:
        """A copy of the file alone: a write-ahead log that is foreign or damaged keeps DuckDB from opening it."""
        copy = self._folder / "copy.duckdb"
        shutil.copyfile(self.path, copy)
        return copy

    def _new_head(self) -> Path:
        """The copy with the first header of a new file: that one tells versions only."""
        fresh, copy = self._folder / "fresh.duckdb", self._folder / "copy.duckdb"
        duckdb.connect(str(fresh)).close()
        with open(fresh, "rb") as head, open(copy, "r+b") as file:
            file.write(head.read(HEADER))
        return copy

    def _double_header(self) -> bool:
        """Write the readable one of the copy's two headers of states over the other; False: both or none can be read.

        DuckDB writes them in turn and needs both. Where the newer one is lost, the other tells an earlier state.
        """
        with open(self._folder / "copy.duckdb", "r+b") as file:
            heads = [file.read(HEADER) for _ in range(3)][1:]
            fits = [len(head) == HEADER and checksum_fits(head) for head in heads]
            if fits[0] == fits[1]:
                return False
            file.seek(HEADER * (2 if fits[0] else 1))
            file.write(heads[0 if fits[0] else 1])
        self.one_header = True
        return True


class _Rescue:
    """One salvage: from a damaged file into a new store."""

    def __init__(self, source: _Source, store: Store) -> None:
        self.source, self.store = source, store
        self.saved = dict.fromkeys(("records", "lineage", "splits", "results"), 0)
        self.lost: list[Loss] = []

    def run(self) -> Salvage:
        """Table by table."""
        if self.source.one_header:
            self.lost.append(Loss("header", "one of two", "if it was the newer one, what was written last is missing"))
        for rows in self._portions("records"):
            records = [r for row in rows if (r := self._make_or_list("records", row[2], _record, row))]
            self.store.put_versions(records, [], [])
            self.saved["records"] += len(records)
        for rows in self._portions("lineage"):
            lines = [x for row in rows if (x := self._make_or_list("lineage", row[0], _line, row))]
            self.store.put_versions([], lines, [])
            self.saved["lineage"] += len(lines)
        for rows in self._portions("results"):
            results = [x for row in rows if (x := self._make_or_list("results", f"{row[0]} {row[1]}", _result, row))]
            self.store.put_versions([], [], results)
            self.saved["results"] += len(results)
        self._splits()
        self._sources()
        return Salvage(self.saved, tuple(self.lost))

    def _splits(self) -> None:
        places: dict[str, dict[int, str]] = {}
        for rows in self._portions("split_cases"):
            for split, position, case in rows:
                places.setdefault(split, {})[position] = case
        for rows in self._portions("splits"):
            for name, header in rows:
                cases = [case for _, case in sorted(places.get(name, {}).items())]
                details = json.loads(header)
                missing = int(details["cases"]) - len(self.store.known(cases))
                if missing:
                    reason = f"{missing} of its {counted(int(details['cases']), 'case')} cannot be read"
                    self.lost.append(Loss("splits", name, reason))
                    continue
                self.store.put_frozen(details, cases, where=str(self.source.path))
                self.saved["splits"] += 1

    def _sources(self) -> None:
        """Which source holds what; of a source that is lost itself the name is kept, with what it holds."""
        columns, unknown = _COLUMNS["sources"], {"file": None, "digest": None, "named": True, "imported_at": ""}
        known = {row[0]: dict(zip(columns, row, strict=True)) for rows in self._portions("sources") for row in rows}
        for rows in self._portions("source_items"):
            items: dict[str, list[list[str]]] = {}
            for source, *item in rows:
                items.setdefault(source, []).append(item)
            for source, held in items.items():
                self.store.put_dumped_source({"name": source, **unknown, **known.get(source, {}), "items": held})

    def _make_or_list(self, table: str, what: str, make: Callable[[tuple[Any, ...]], Any], row: tuple[Any, ...]) -> Any:
        """What a row holds; None, and a line in the list, where that is not what it should be."""
        try:
            return make(row)
        except (ValueError, KeyError, TypeError) as error:
            self.lost.append(Loss(table, str(what), f"no valid content: {str(error).splitlines()[0][:120]}"))
            return None

    def _portions(self, table: str) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of a table, some thousand at a time; where they cannot be read, their keys are listed as lost."""
        last = self.source.rows(f"SELECT max(rowid) FROM {table}")
        if last is None:
            self.lost.append(Loss(table, "all of it", "where its rows stand cannot be read"))
            return
        if not last or last[0][0] is None:
            return
        columns = ", ".join(_COLUMNS[table])
        for first in range(0, int(last[0][0]) + 1, STEP):
            where = f"FROM {table} WHERE rowid >= {first} AND rowid < {first + STEP}"
            rows = self.source.rows(f"SELECT {columns} {where}")
            if rows is not None:
                yield rows
                continue
            names = ", ".join(_COLUMNS[table][:-1])
            known = self.source.rows(f"SELECT {names} {where}")
            if known is None:
                span = f"rows {first + 1} to {min(first + STEP, int(last[0][0]) + 1)}"
                self.lost.append(Loss(table, span, "neither content nor keys can be read"))
            for row in known or ():
                name = row[2] if table == "records" else " ".join(map(str, row[:2]))
                self.lost.append(Loss(table, str(name), "its content cannot be read"))


def _record(row: tuple[Any, ...]) -> tuple[Record, bool]:
    id_, kind, _, current, body = row
    record = KINDS[kind].model_validate_json(body)
    if record.id != id_:
        raise ValueError("its content is not that of its id")
    return record, bool(current)


def _line(row: tuple[Any, ...]) -> Lineage:
    return Lineage.model_validate_json(row[-1])


def _result(row: tuple[Any, ...]) -> CaseResult:
    return CaseResult.model_validate_json(row[-1])
