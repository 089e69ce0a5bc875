"""The store as a file: opened with plain errors, migrated by its first writer, written in transactions."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from curation.store import migrations
from schemas.core.errors import StoreError

MEMORY = "384MB"
"""Memory limit of DuckDB; it writes the rest to a folder next to the store. ``SCEDIT_STORE_MEMORY`` overrides it."""
FETCH = 2000
"""Rows that a stream holds at a time."""
_OF_THE_STATEMENT = (duckdb.ProgrammingError, duckdb.DataError, duckdb.IntegrityError, duckdb.PermissionException)
_NO_SPACE = re.compile(
    r"No space left|File too large|Could not write|out of memory|disk is full|max_temp_directory", re.I
)


class Connection:
    """A connection to a store. Errors of the file become a StoreError; errors of a statement stay DuckDB's."""

    def __init__(self, db: duckdb.DuckDBPyConnection, path: Path) -> None:
        self._db, self._path = db, path

    @contextlib.contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except _OF_THE_STATEMENT:
            raise
        except duckdb.Error as error:
            raise store_error(error, self._path) from None

    def execute(self, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
        """Run a statement; returns its rows."""
        with self._store_errors():
            return self._db.execute(sql, values).fetchall()

    def ask(self, sql: str, limit: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]] | None:
        """The columns and rows of a query; None where the text holds no statement."""
        with self._store_errors():
            self._db.execute(sql)
            if self._db.description is None:
                return None
            rows = self._db.fetchall() if limit is None else self._db.fetchmany(limit)
            return [column[0] for column in self._db.description], rows

    def count(self, sql: str, values: Any = None) -> int:
        """The one number that a query asks for."""
        rows = self.execute(sql, values)
        return int(rows[0][0] or 0) if rows else 0

    def stream(self, sql: str, values: Any = None) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, some at a time, whatever else runs meanwhile."""
        with self._store_errors():
            cursor = self._db.cursor()
        try:
            with self._store_errors():
                cursor.execute(sql, values)
            while rows := self._next(cursor):
                yield from rows
        finally:
            cursor.close()

    def _next(self, cursor: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
        with self._store_errors():
            return cursor.fetchmany(FETCH)

    def execute_over(self, sql: str, columns: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Run a statement over arrays of numpy, the columns of a table; ``{}`` in it is the table's name.

        Each column has the type of its values. DuckDB finds the table among the variables of this function: a
        registered one would stay in memory until the transaction ends.
        """
        scedit_arrays = dict(columns)
        with self._store_errors():
            self._db.execute(sql.format("scedit_arrays"))
        del scedit_arrays

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        self._db.close()


def store_error(error: duckdb.Error, path: Path) -> StoreError:
    """The one sentence for an error of DuckDB: what is wrong with the store, and the next step."""
    text, where = " ".join(str(error).split()), str(path)
    if holder := re.search(r"Conflicting lock is held in (.*?) \(PID (\d+)\)", text):
        what = f"the store is in use by process {holder[2]} ({Path(holder[1]).name})"
        return StoreError(what, where=where, fix="wait until it ends, or stop that process; nothing was changed")
    if "Could not set lock" in text:
        return StoreError("the store is in use by another process", where=where, fix="wait until it ends")
    if "Permission denied" in text or "Read-only" in text:
        return StoreError("the file may not be written or read", where=where, fix="check its permissions")
    if "already closed" in text:
        return StoreError("the store is closed", where=where, fix="read it while it is open, inside its 'with'")
    if _NO_SPACE.search(text):
        fix = "nothing of this step was stored; free some space, or set SCEDIT_STORE_MEMORY"
        return StoreError(f"there is no space for this step: {text[:160]}", where=where, fix=fix)
    if "not a valid" in text:
        what = "the file is not a DuckDB file, or its header is damaged"
        return StoreError(what, where=where, fix="name another file, or restore a backup: scedit store restore")
    fix = "restore a backup with 'scedit store restore', or rebuild the store from a dump with 'scedit store rebuild'"
    return StoreError(f"the store cannot be read or written: {text[:160]}", where=where, fix=fix)


def limits(path: Path) -> dict[str, Any]:
    """DuckDB's memory limit, threads and spill folder; the folder belongs to this process alone."""
    folder = path.parent if os.access(path.parent, os.W_OK) else Path(tempfile.gettempdir())
    aside = folder / f"{path.name}.tmp-{os.getpid()}"
    memory = os.environ.get("SCEDIT_STORE_MEMORY") or MEMORY
    threads = min(4, os.cpu_count() or 1)  # each thread has buffers of its own
    return {"memory_limit": memory, "temp_directory": str(aside), "threads": threads}


def connect(path: Path, *, write: bool) -> Connection:
    """Connect to a file.

    Raises:
        StoreError: absent, locked (by whom), damaged, foreign, not permitted.
    """
    if not write and not path.exists():
        fix = f"make one with: scedit data import FACTS --store {path}"
        raise StoreError("there is no such store", where=str(path), fix=fix)
    try:
        return Connection(duckdb.connect(str(path), read_only=not write, config=limits(path)), path)
    except duckdb.Error as error:
        raise store_error(error, path) from None


def open_connection(path: Path, *, write: bool = False, create: bool = False) -> Connection:
    """Open a store; only a writer creates or migrates it, and removes spill folders of killed processes.

    Raises:
        StoreError: absent, locked, damaged, not a store, or written by a newer program.
    """
    if path.exists() or not create:
        done = examine(path)
    else:
        done = set()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder cannot be made: {error.strerror}", where=str(path.parent)) from None
    if not (write or create):
        if not done >= migrations.READABLE:
            what = "the store was written by an earlier version, and only a writing command brings it up to date"
            raise StoreError(what, where=str(path), fix=f"run: scedit data import FACTS --store {path}")
        return connect(path, write=False)
    for left in path.parent.glob(f"{path.name}.tmp-*"):
        if left.name != f"{path.name}.tmp-{os.getpid()}":
            shutil.rmtree(left, ignore_errors=True)
    missing = [m.__name__ for m in migrations.MIGRATIONS if m.__name__ not in done]
    if done and missing:
        copy = path.with_name(f"{path.stem}.before-{missing[0]}{path.suffix}")
        for end in ("", ".wal"):  # a writer that was killed leaves the last transactions in the log
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{end}", f"{copy}{end}")
    db = connect(path, write=True)
    try:
        if not done:
            with transaction(db, path):  # a file whose first writer was killed is empty, not foreign
                db.execute("CREATE TABLE IF NOT EXISTS migrations (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP)")
                db.execute("CREATE TABLE IF NOT EXISTS meta (name VARCHAR PRIMARY KEY, value VARCHAR)")
                db.execute("INSERT OR IGNORE INTO meta VALUES ('application', ?)", [migrations.APPLICATION])
        migrations.apply(db, done=done)
    except BaseException:
        db.close()
        raise
    return db


def examine(path: Path) -> set[str]:
    """Names of the migrations that a file has; empty where it has no tables.

    Raises:
        StoreError: no store of this or an earlier version.
    """
    with connect(path, write=False) as db:
        tables = {r[0] for r in db.execute("SELECT table_name FROM information_schema.tables")}
        if not tables:
            return set()
        known = "SELECT value FROM meta WHERE name = 'application'"
        if not {"meta", "migrations"} <= tables or db.execute(known) != [(migrations.APPLICATION,)]:
            what = "this is a DuckDB file of something else, not a store"
            raise StoreError(what, where=str(path), fix="name another")
        done = {str(r[0]) for r in db.execute("SELECT name FROM migrations")}
    if unknown := sorted(done - {m.__name__ for m in migrations.MIGRATIONS}):
        what = f"the store was written by a newer version of this program (it knows '{unknown[-1]}')"
        raise StoreError(what, where=str(path), fix="upgrade with: pip install -U scedit")
    return done


def remove_if_empty(db: Connection, path: Path) -> None:
    """Remove the file of an open store without content, before another process can take it for a store."""
    tables = ("records", "lineage", "splits", "results")
    with contextlib.suppress(duckdb.Error, StoreError, OSError):
        if not any(db.execute(f"SELECT 1 FROM {table} LIMIT 1") for table in tables):
            path.unlink()


@contextlib.contextmanager
def transaction(db: Connection, path: Path) -> Iterator[None]:
    """BEGIN; COMMIT at the end, ROLLBACK on any exception, so that nothing half-written counts."""
    collects = gc.isenabled()
    gc.disable()  # records hold no cycles; searching for some takes a third of the time of an import or a freeze
    try:
        db.execute("BEGIN")
        yield
        db.execute("COMMIT")
    except BaseException as error:
        with contextlib.suppress(duckdb.Error, StoreError):  # after damage there is nothing to take back
            db.execute("ROLLBACK")
        if not isinstance(error, duckdb.Error):
            raise
        what = f"the store could not be written: {' '.join(str(error).split())[:200]}"
        fix = "nothing of this step was kept; free some space and start again"
        raise StoreError(what, where=str(path), fix=fix) from None
    finally:
        if collects:
            gc.enable()
