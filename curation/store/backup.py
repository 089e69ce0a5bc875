"""Copies of a store: backups and snapshots made by the writer, dumps as text, stores rebuilt from dumps, plain SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from curation.files.atomic import atomic_file, atomic_path
from curation.store.connection import connect, examine
from curation.store.store import KINDS, Store
from schemas.core.decoding import why_not_utf8
from schemas.core.errors import DataError, StoreError, UserError
from schemas.core.records import Record
from schemas.lineage import Lineage
from schemas.runs import CaseResult

DUMP_FORMAT = 1


class DumpCounts(NamedTuple):
    """What a dump or a rebuild went through."""

    records: int
    lineage: int
    splits: int
    results: int


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


def dump(store: Store, path: Path) -> DumpCounts:
    """Write everything a store holds as JSON lines: records with all versions, lineage, splits, results.

    The file is read line by line by ``rebuild`` and by anything else; it stands under its name only when it is whole.
    """
    counts = {"record": 0, "lineage": 0, "split": 0, "result": 0}
    with atomic_file(path, "the dump") as file:
        file.write(json.dumps({"scedit_dump": DUMP_FORMAT}) + "\n")
        for what, value in store.everything():
            counts[what] = counts.get(what, 0) + 1
            file.write(json.dumps({what: value}, ensure_ascii=False, separators=(",", ":")) + "\n")
        file.write(json.dumps({"end": counts}) + "\n")
    return DumpCounts(counts["record"], counts["lineage"], counts["split"], counts["result"])


def rebuild(path: Path, target: Path) -> DumpCounts:
    """Make a store from a dump: same keys, ids, verdicts, lineage, splits and results.

    Raises:
        UserError: the target exists.
        DataError: the dump is cut off, or a line of it is not what it should be; no store is left behind then.
    """
    if target.exists():
        raise UserError("the store exists already", where=str(target), fix="name another file, or move it away")
    with atomic_path(target, "the store") as partial, Store.open(partial, create=True) as store:
        return _fill(store, path)


def _fill(store: Store, path: Path) -> DumpCounts:
    counts = {"record": 0, "lineage": 0, "split": 0, "result": 0}
    batch = _DumpLines(store)
    whole = False
    for where, what, value in _lines(path):
        if what == "end":
            whole = value == counts
            continue
        counts[what] = counts.get(what, 0) + 1
        try:
            batch.add(what, value, where)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not a line of a dump: {str(error).splitlines()[0]}", where=where) from None
    batch.flush()
    store.complete_origins()
    if not whole:
        raise DataError("the dump is cut off: its last line with the counts is missing or differs", where=str(path))
    return DumpCounts(counts["record"], counts["lineage"], counts["split"], counts["result"])


class _DumpLines:
    """Lines of a dump on their way into a store, some thousand at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions: list[tuple[Record, bool]] = []
        self._lineage: list[Lineage] = []
        self._results: list[CaseResult] = []
        self._origins: list[tuple[str, str]] = []

    def add(self, what: str, value: Any, where: str) -> None:
        """One line of a dump."""
        if what == "record":
            self._versions.append((KINDS[value["kind"]].model_validate(value["body"]), value["current"]))
        elif what == "lineage":
            self._lineage.append(Lineage.model_validate(value))
        elif what == "result":
            self._results.append(CaseResult.model_validate(value))
        elif what == "origin":
            self._origins.append((str(value[0]), str(value[1])))
        elif what == "source":
            self._store.put_dumped_source(value)
        else:
            self.flush()
            self._store.put_frozen(value["header"], value["cases"], where=where)
        if len(self._versions) + len(self._lineage) + len(self._results) + len(self._origins) >= 5000:
            self.flush()

    def flush(self) -> None:
        """Put what is gathered into the store."""
        self._store.put_versions(self._versions, self._lineage, self._results)
        self._store.put_origins(self._origins)
        self._versions, self._lineage, self._results, self._origins = [], [], [], []


def _lines(path: Path) -> Iterator[tuple[str, str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}, line {number}"
                try:
                    data = json.loads(line)
                except json.JSONDecodeError:
                    raise DataError("not a line of a dump, perhaps cut off", where=where) from None
                if number == 1:
                    if not isinstance(data, dict) or data.get("scedit_dump") != DUMP_FORMAT:
                        raise DataError(
                            "not a dump of a store", where=str(path), fix="make one with: scedit store dump"
                        )
                    continue
                if not isinstance(data, dict) or len(data) != 1:
                    raise DataError("not a line of a dump", where=where)
                what, value = next(iter(data.items()))
                if what not in ("record", "lineage", "split", "result", "origin", "source", "end"):
                    raise DataError(f"a dump has no '{what}'", where=where)
                yield where, what, value
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise DataError(why_not_utf8(error), where=str(path)) from None


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
            cursor = db.execute(sql)
            if cursor is None or cursor.description is None:
                raise UserError("there is no statement in the query", where=str(path), fix='try "SELECT * FROM facts"')
            rows = cursor.fetchall() if limit is None else cursor.fetchmany(limit)
            columns = [c[0] for c in cursor.description]
        except duckdb.Error as error:
            reason = " ".join(str(error).split())
            raise UserError(
                f"the query fails: {reason[:300]}",
                where=str(path),
                fix="the tables and views are in the documentation, page 'Facts and the store'",
            ) from None
    return QueryResult(columns, rows)


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
