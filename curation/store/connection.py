"""The store as a file: opened with plain errors, migrated by its first writer, written in transactions."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from curation.store.origins import make_origins
from schemas.core.errors import StoreError

APPLICATION = "scedit-store"
MEMORY = "384MB"
"""Memory limit of DuckDB; it writes the rest to a folder next to the store. ``SCEDIT_STORE_MEMORY`` overrides it."""
FETCH = 2000
"""Rows that a stream holds at a time."""
_OF_THE_STATEMENT = (duckdb.ProgrammingError, duckdb.DataError, duckdb.IntegrityError, duckdb.PermissionException)


class Connection(contextlib.AbstractContextManager["Connection"]):
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        self._db.close()


_ERRORS = (
    ("Could not set lock", "the store is in use by another process", "wait until it ends"),
    (
        "not a valid|in-memory database",  # a CSV, JSON or Parquet file is opened beside a database in memory
        "the file is not a DuckDB file, or its header is damaged",
        "name another file, or restore a backup: scedit store restore",
    ),
    ("Permission denied|Read-only", "the file may not be written or read", "check its permissions"),
    ("Is a directory", "this is a folder", "name the store's file"),
    ("same database file", "this process has the store open already", "leave its 'with', or close it, first"),
    ("already closed", "the store is closed", "read it while it is open, inside its 'with'"),
    (
        "No space left|File too large|Could not write|out of memory|disk is full|max_temp_directory",
        "there is no space for this step: {}",
        "nothing of this step was stored; free some space, or set SCEDIT_STORE_MEMORY",
    ),
    (
        "",
        "the store cannot be read or written: {}",
        "restore a backup with 'scedit store restore', or rebuild the store from a dump with 'scedit store rebuild'",
    ),
)
"""What DuckDB says (the first that fits counts), what is wrong, and the next step."""


def store_error(error: duckdb.Error, path: Path) -> StoreError:
    """The one sentence for an error of DuckDB: what is wrong with the store, and the next step."""
    text = " ".join(str(error).split())
    if holder := re.search(r"Conflicting lock is held in (.*?) \(PID (\d+)\)", text):
        what = f"the store is in use by process {holder[2]} ({Path(holder[1]).name})"
        return StoreError(what, where=str(path), fix="wait until it ends, or stop that process; nothing was changed")
    what, fix = next((what, fix) for said, what, fix in _ERRORS if re.search(said, text, re.IGNORECASE))
    return StoreError(what.format(text[:160]), where=str(path), fix=fix)


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
        StoreError: absent, locked, damaged, not a store, or written by another version that this one cannot read.
    """
    if not (write or create):
        examine(path)
        return connect(path, write=False)
    if create and not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder cannot be made: {error.strerror}", where=str(path.parent)) from None
        done = set[str]()
    else:
        done = examine(path, empty=True)
    for left in path.parent.glob(f"{path.name}.tmp-*"):
        if left.name != f"{path.name}.tmp-{os.getpid()}":
            shutil.rmtree(left, ignore_errors=True)
    missing = [step for step in MIGRATIONS if step.__name__ not in done]
    if done and missing:
        copy = path.with_name(f"{path.stem}.before-{missing[0].__name__}{path.suffix}")
        for end in ("", ".wal"):  # a writer that was killed leaves the last transactions in the log
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{end}", f"{copy}{end}")
    with contextlib.ExitStack() as opened:
        db = opened.enter_context(connect(path, write=True))
        for step in missing:
            with transaction(db, path):
                step(db)
                db.execute("INSERT INTO migrations VALUES (?, now())", [step.__name__])
        opened.pop_all()
    return db


def examine(path: Path, *, empty: bool = False) -> set[str]:
    """Names of the migrations that a file has.

    Args:
        path: The file.
        empty: Allow a file without tables, which has no migrations.

    Raises:
        StoreError: no store of this version or of 0.2.0.
    """
    with connect(path, write=False) as db:
        tables = {r[0] for r in db.execute("SELECT table_name FROM information_schema.tables")}
        if not tables and empty:
            return set()
        if not tables:
            what = "the store is empty: the command that was making it was stopped"
            raise StoreError(what, where=str(path), fix="give that command again")
        known = "SELECT value FROM meta WHERE name = 'application'"
        if not {"meta", "migrations"} <= tables or db.execute(known) != [(APPLICATION,)]:
            what = "this is a DuckDB file of something else, not a store"
            raise StoreError(what, where=str(path), fix="name another")
        done = {str(r[0]) for r in db.execute("SELECT name FROM migrations")}
    if unknown := sorted(done - {"m001_initial", "m002_views"} - {step.__name__ for step in MIGRATIONS}):
        what = f"the store was written by a newer version of this program (it knows '{unknown[-1]}')"
        raise StoreError(what, where=str(path), fix="upgrade with: pip install -U scedit")
    if MIGRATIONS[0].__name__ not in done:
        what = "the store was written by a version before 0.2.0"
        raise StoreError(what, where=str(path), fix="write to it once with version 0.2.0")
    return done


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


# ---- tables -------------------------------------------------------------------------------------------------------


def m003_plain_tables(db: Connection) -> None:
    """Records, their lineage, splits, results of runs, and views to read the store with plain SQL.

    Records and lineage have no index: DuckDB must hold an index whole in memory when it commits. A look-up by id or key
    scans a column instead (some milliseconds at a million records); the store's one writer keeps ids unique.
    """
    text = "VARCHAR NOT NULL"
    db.execute("CREATE TABLE migrations (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP)")
    db.execute("CREATE TABLE meta (name VARCHAR PRIMARY KEY, value VARCHAR)")
    db.execute("INSERT INTO meta VALUES ('application', ?)", [APPLICATION])
    db.execute("CREATE SEQUENCE record_seq")
    db.execute(
        f"""CREATE TABLE records (seq BIGINT DEFAULT nextval('record_seq'), id {text}, kind {text}, key {text},
             parent VARCHAR, current BOOLEAN NOT NULL, body {text})"""
    )
    db.execute(
        f"""CREATE TABLE lineage (item_id {text}, stage {text}, made_at {text}, model VARCHAR, prompt VARCHAR,
             request VARCHAR, tokens_in BIGINT, tokens_out BIGINT, cost DOUBLE, body {text})"""
    )
    db.execute(f"CREATE TABLE splits (name VARCHAR PRIMARY KEY, digest {text}, header {text})")
    db.execute(f"CREATE TABLE split_cases (split {text}, position BIGINT NOT NULL, case_id {text})")
    db.execute(f"CREATE TABLE results (run {text}, case_key {text}, body {text}, PRIMARY KEY (run, case_key))")
    for name, (kind, columns) in VIEWS.items():
        db.execute(f"CREATE VIEW {name} AS SELECT key, id, {columns} FROM records WHERE kind = '{kind}' AND current")


VIEWS = {
    "facts": (
        "fact",
        """body->>'$.subject.text' AS subject, body->>'$.relation.id' AS relation, body->>'$.old.text' AS old,
           body->>'$.new.text' AS new, body->>'$.change' AS change, body->>'$.changed_on' AS changed_on,
           body->>'$.source.name' AS source""",
    ),
    "questions": ("question", "parent AS fact, body->>'$.text' AS text"),
    "scripts": ("script", "parent AS question, body->'$.steps' AS steps"),
    "prompts": (
        "prompt",
        """parent AS fact, body->>'$.text' AS text, CAST(body->>'$.step' AS INTEGER) AS step,
           CAST(body->>'$.offset' AS INTEGER) AS "offset", body->>'$.separator' AS separator,
           body->'$.targets' AS targets""",
    ),
    "neighbours": (
        "neighbour",
        """parent AS edit, body->>'$.fact' AS fact, body->>'$.how' AS how,
           CAST(body->>'$.distance' AS DOUBLE) AS distance""",
    ),
    "verdicts": (
        "verdict",
        """parent AS item_id, body->>'$.by' AS by, body->>'$.label' AS label, body->>'$.reason' AS reason,
           CAST(body->>'$.value' AS DOUBLE) AS value, body->>'$.unit' AS unit, body->>'$.model' AS model""",
    ),
}
"""Views of current records: the kind, and what columns it has beside key and id."""


def m004_origins(db: Connection) -> None:
    """What each derived record was made from, by content."""
    make_origins(db)


MIGRATIONS: list[Callable[[Connection], None]] = [m003_plain_tables, m004_origins]
"""What makes a store, in order; a store of 0.2.0 has the first."""
