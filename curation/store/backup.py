"""Copies of a store: backups and snapshots made by the writer, dumps as text, stores rebuilt from dumps, plain SQL."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from curation.files.atomic import atomic_file, atomic_path
from curation.files.json_files import json_lines
from curation.store.connection import connect, examine
from curation.store.origins import fill_origins
from curation.store.reader import TABLES
from curation.store.store import KINDS, Store
from schemas.core.errors import DataError, StoreError, UserError

DUMP_FORMAT = 2
BATCH = 5000
"""Rows that are put into a store at a time."""


def snapshot(store: Store, path: Path) -> None:
    """Copy an open store to a file, consistently; its writer goes on afterwards, the old copy is replaced at once.

    Args:
        store: Open for reading or writing; between two transactions.
        path: The copy. Live views read it instead of the locked store.

    Raises:
        UserError: the copy cannot be written, or is the store itself.
    """
    if path.resolve() == store.path.resolve():
        raise UserError("a store cannot be copied onto itself", where=str(path))
    with atomic_path(path, "the copy", fsync=False) as partial:
        try:
            store.copy_to(partial)
        except duckdb.Error as error:
            reason = str(error).split("\n")[0]
            raise UserError(f"the copy cannot be written: {reason}", where=str(path)) from None


def forget_person(path: Path, name: str) -> int:
    """Delete a person's verdicts and ratings from a store, all versions with their lineage; returns how many.

    The file is written anew, so that nothing of them is left in it. In a sample's list the person's name is deleted,
    too. A frozen split is never changed: its header may name the person among those who judged its sample.
    """
    with Store.open(path, write=True) as store:
        number = store.delete_judgements(name)
    with atomic_path(path, "the store", fsync=False) as partial, Store.open(path) as store:
        store.copy_to(partial)
    return number


def dump(store: Store, path: Path) -> dict[str, int]:
    """Write every row of a store's tables as JSON lines; returns the number of rows by table.

    The file is read line by line by ``rebuild`` and by anything else; it takes its name only when it is complete.
    """
    counts: Counter[str] = Counter()
    with atomic_file(path, "the dump") as file:
        file.write(json.dumps({"scedit_dump": DUMP_FORMAT}) + "\n")
        for table, row in store.everything():
            counts[table] += 1
            file.write(json.dumps({table: row}, ensure_ascii=False, separators=(",", ":")) + "\n")
        file.write(json.dumps({"end": counts}) + "\n")
    return dict(counts)


def rebuild(path: Path, target: Path) -> dict[str, int]:
    """Make a store from a dump: the same rows in every table; returns their number.

    Raises:
        UserError: the target exists.
        DataError: the dump is cut off, or a line of it is not what it should be; no store is left behind then.
    """
    if target.exists():
        raise UserError("the store exists already", where=str(target), fix="name another file, or move it away")
    counts: Counter[str] = Counter()
    with atomic_path(target, "the store") as partial, Store.open(partial, create=True) as store:
        lines = _lines(path)
        while batch := list(islice(lines, BATCH)):
            for table, rows in groupby(batch, key=itemgetter(0)):
                values = [_checked(table, row, where) for _, row, where in rows]
                store.put_table_rows(table, values)
                counts[table] += len(values)
        if not counts["origins"]:  # the dump of a store that an earlier version wrote
            fill_origins(store.connection)
        for label, _, _ in store.split_names():  # reading a split to its end checks its digest
            deque(store.open_split(label).all_cases, maxlen=0)
    return dict(counts)


def _checked(table: str, row: dict[str, Any], where: str) -> dict[str, Any]:
    """A row of a dump, of which a record must be what its id says."""
    try:
        if table != "records" or KINDS[row["kind"]].model_validate(row["body"]).id == row["id"]:
            return row
        what = "the content does not fit its id"
    except (KeyError, TypeError, ValueError) as error:
        what = str(error).splitlines()[0]
    raise DataError(f"not a line of a dump: {what}", where=where)


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Table, row and place of every line of a dump."""
    counts: Counter[str] = Counter()
    end: dict[str, int] | None = None
    for number, where, data in json_lines(path):
        if number == 1:
            if not isinstance(data, dict) or data.get("scedit_dump") != DUMP_FORMAT:
                what = f"not a dump of a store in format {DUMP_FORMAT}"
                raise DataError(what, where=str(path), fix="make one with: scedit store dump")
            continue
        table, row = next(iter(data.items())) if isinstance(data, dict) and len(data) == 1 else ("", {})
        if table == "end":
            end = row
        elif table not in TABLES or not isinstance(row, dict):
            raise DataError(f"a dump has no '{table}'", where=where)
        else:
            counts[table] += 1
            yield table, row, where
    if end != counts:
        raise DataError("the dump is cut off: its last line with the counts is missing or differs", where=str(path))


class QueryResult(NamedTuple):
    """The answer to a query."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def query(path: Path, sql: str, *, limit: int | None = None) -> QueryResult:
    """Run one SQL statement against a store, read-only and without reach to other files.

    Raises:
        UserError: the statement fails or would write.
    """
    examine(path)
    with connect(path, write=False) as db:
        db.execute("SET enable_external_access = false")
        db.execute("SET lock_configuration = true")
        try:
            answer = db.ask(sql, limit)
        except duckdb.Error as error:
            reason = " ".join(str(error).split())
            fix = "the tables and views are in the documentation, page 'Facts and the store'"
            raise UserError(f"the query fails: {reason[:300]}", where=str(path), fix=fix) from None
    if answer is None:
        raise UserError("there is no statement in the query", where=str(path), fix='try "SELECT * FROM facts"')
    return QueryResult(*answer)


def restore(backup: Path, target: Path) -> None:
    """Put a backup in a store's place; refused where the backup is not sound or the target exists.

    Raises:
        StoreError: the backup is damaged, foreign or newer.
    """
    examine(backup)
    if target.exists():
        raise StoreError("the store exists already", where=str(target), fix="move it away first; it is not overwritten")
    with Store.open(backup) as store:
        snapshot(store, target)
