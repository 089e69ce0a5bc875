"""The store as a file: looked at before it is written, opened with plain errors, written in transactions."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, cast

import duckdb

from curation.store import migrations
from curation.store.damage import Connection, damage_error, refuse_damaged
from schemas.core.errors import StoreError

MEMORY = "384MB"
"""What DuckDB may hold; the rest goes to a folder beside the store. ``SCEDIT_STORE_MEMORY`` says otherwise ("4GB")."""


def limits(path: Path) -> dict[str, Any]:
    """How much DuckDB may hold, and where the rest goes: a folder of this process alone, made when it is needed."""
    folder = path.parent if os.access(path.parent, os.W_OK) else Path(tempfile.gettempdir())
    aside = folder / f"{path.name}.tmp-{os.getpid()}"
    memory = os.environ.get("SCEDIT_STORE_MEMORY") or MEMORY
    threads = min(4, os.cpu_count() or 1)  # each thread has buffers of its own
    return {"memory_limit": memory, "temp_directory": str(aside), "threads": threads}


def clean_up(path: Path) -> None:
    """Clear away what killed processes left beside a store; only its writer may, who is alone with it."""
    for left in path.parent.glob(f"{path.name}.tmp-*"):
        if left.name != f"{path.name}.tmp-{os.getpid()}":
            shutil.rmtree(left, ignore_errors=True)


def prepare(path: Path, *, create: bool, write: bool = False) -> None:
    """Make the file ready to open: made when it may be, migrated when it is older, refused when it is not sound.

    Where it will be written, every block is looked at first.

    Raises:
        StoreError: absent, locked, damaged, not a store, or written by a newer program.
    """
    if path.exists():
        done = examine(path)
        if create or write:
            refuse_damaged(path, limits(path))
    elif create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder cannot be made: {error.strerror}", where=str(path.parent)) from None
        done = set()
    else:
        raise StoreError(
            "there is no such store", where=str(path), fix=f"make one with: scedit data import FACTS --store {path}"
        )
    if all(m.__name__ in done for m in migrations.MIGRATIONS):
        return
    with connect(path, write=True) as db:
        if not done:
            with Transaction(db, path):  # a file that was killed here is empty, not foreign
                db.execute("CREATE TABLE IF NOT EXISTS migrations (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP)")
                db.execute("CREATE TABLE IF NOT EXISTS meta (name VARCHAR PRIMARY KEY, value VARCHAR)")
                db.execute("INSERT OR IGNORE INTO meta VALUES ('application', ?)", [migrations.APPLICATION])
        migrations.apply(db, done=done)


def remove_if_empty(db: Connection, path: Path) -> None:
    """Remove the file of an open store in which nothing was kept, before another process can take it for a store."""
    tables = ("records", "lineage", "splits", "results")
    with contextlib.suppress(duckdb.Error, StoreError, OSError):
        if not any(db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall() for table in tables):
            path.unlink()


class _ClosedDatabase:
    """Stands where a connection was: whatever is asked of it, the store is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getattr__(self, name: str) -> NoReturn:
        raise StoreError(
            "the store is closed", where=str(self._path), fix="read it while it is open, inside its 'with'"
        )

    def close(self) -> None:
        """Closing again changes nothing."""


def closed_connection(path: Path) -> Connection:
    """What a closed store has for a connection."""
    return cast("Connection", _ClosedDatabase(path))


class Transaction:
    """BEGIN; COMMIT at the end, ROLLBACK on any exception, so that nothing half-written counts."""

    def __init__(self, db: Connection | duckdb.DuckDBPyConnection, path: Path) -> None:
        self._db, self._path = db, path

    def __enter__(self) -> None:
        self._db.execute("BEGIN")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._db.execute("COMMIT" if kind is None else "ROLLBACK")
        except (duckdb.Error, StoreError) as problem:  # after damage there is nothing to take back
            if error is None:
                error = problem
                if isinstance(problem, StoreError):
                    raise
        if isinstance(error, duckdb.Error):
            raise StoreError(
                f"the store could not be written: {' '.join(str(error).split())[:200]}",
                where=str(self._path),
                fix="nothing of this step was kept; free some space and start again",
            ) from None


def examine(path: Path) -> set[str]:
    """Names of the migrations a file has had; refuses what is not a sound store of this or an older version."""
    with connect(path, write=False) as db:
        tables = {r[0] for r in db.execute("SELECT table_name FROM information_schema.tables").fetchall()}
        if not {"meta", "migrations"} <= tables:
            if not tables:
                return set()
            raise StoreError(
                "this is a DuckDB file of something else, not a store", where=str(path), fix="name another"
            )
        row = db.execute("SELECT value FROM meta WHERE name = 'application'").fetchone()
        if not row or row[0] != migrations.APPLICATION:
            raise StoreError(
                "this is a DuckDB file of something else, not a store", where=str(path), fix="name another"
            )
        done = {str(r[0]) for r in db.execute("SELECT name FROM migrations").fetchall()}
    if unknown := sorted(done - {m.__name__ for m in migrations.MIGRATIONS}):
        raise StoreError(
            f"the store was written by a newer version of this program (it knows '{unknown[-1]}')",
            where=str(path),
            fix="upgrade with: pip install -U scedit",
        )
    return done


def connect(path: Path, *, write: bool) -> Connection:
    """A DuckDB connection, or a StoreError: locked (by whom), damaged, foreign, not permitted."""
    try:
        config = limits(path)
        return Connection(duckdb.connect(str(path), read_only=not write, config=config), path, config)
    except duckdb.Error as error:
        text = " ".join(str(error).split())
        if holder := re.search(r"Conflicting lock is held in (.*?) \(PID (\d+)\)", text):
            raise StoreError(
                f"the store is in use by process {holder[2]} ({Path(holder[1]).name})",
                where=str(path),
                fix="wait until it ends, or stop that process; nothing was changed",
            ) from None
        if "Permission denied" in text or "Read-only" in text:
            raise StoreError(
                "the file may not be written or read", where=str(path), fix="check its permissions"
            ) from None
        if re.search(r"checksum|[Cc]orrupt|enough bytes|[Ss]erializ|INTERNAL|\bWAL\b", text):
            raise damage_error(path, text, limits(path)) from None
        if "not a valid" in text:
            raise StoreError(
                "the file is not a DuckDB file and was left untouched",
                where=str(path),
                fix="name another file; a store whose first bytes are lost: scedit store salvage",
            ) from None
        if "Could not set lock" in text:
            raise StoreError(
                "the store is in use by another process", where=str(path), fix="wait until it ends"
            ) from None
        raise StoreError(f"the store cannot be opened: {text[:200]}", where=str(path)) from None
