"""Opening a ratings file: readable by its owner only, with the tables of this program."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path

from annotation_ui.ratings.records import SCHEMA, VERSION
from schemas.core.errors import StoreError

AFTER_OPENING: tuple[str, ...] = ()
"""Further statements for every connection, such as a limit of its size in a trial of a full disk."""
_BESIDE = ("", "-wal", "-shm", "-journal")  # SQLite's own files carry answers too
_ROOM = 64 * 1024  # bytes that SQLite needs for them
_log = logging.getLogger(__name__)


def open_ratings_file(path: Path, *, create: bool, patience: float) -> sqlite3.Connection:
    """A connection to a ratings file, with the tables of this program.

    The file is made readable by its owner only. If others could read it, that is changed, and a warning says so.

    Args:
        path: The file.
        create: Make it when it is absent.
        patience: Seconds to wait for another writer.

    Raises:
        StoreError: absent, unreadable, foreign, or written by another version of the program.
    """
    if not path.exists() and not create:
        raise StoreError("there is no such ratings file", where=str(path), fix="make one with: scedit annotate new")
    try:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        db = sqlite3.connect(path, timeout=patience, isolation_level=None)
    except sqlite3.DatabaseError as error:
        raise StoreError(f"not readable as a ratings file: {error}", where=str(path)) from None
    except OSError as error:
        raise StoreError(f"cannot be opened: {error.strerror}", where=str(path)) from None
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        _prepare(db, path)
        for statement in AFTER_OPENING:
            db.execute(statement)
    except sqlite3.OperationalError as error:
        db.close()
        raise file_fault(error, path) from None
    except sqlite3.DatabaseError as error:
        db.close()
        raise StoreError(f"not readable as a ratings file: {error}", where=str(path)) from None
    except StoreError:
        db.close()
        raise
    for tightened in make_private([path.with_name(path.name + end) for end in _BESIDE]):
        _log.warning("%s could be read by others on this machine: it is its owner's alone now", tightened)
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        return
    if version:
        raise StoreError(
            f"the ratings file has version {version}, this program reads version {VERSION}",
            where=str(path),
            fix="open it with the version of the program that wrote it",
        )
    if not _tables(db):
        db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")  # another process may be making the file just now
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            if _tables(db):
                raise StoreError("this SQLite file is no ratings file", where=str(path), fix="name another file")
            for statement in SCHEMA.strip().removesuffix(";").split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _tables(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0])


def make_private(paths: Sequence[Path]) -> list[Path]:
    """Take away what others than the owner may do with files; returns those that others could do something with.

    Files that are absent, or another user's, are left as they are.
    """
    tightened = []
    for path in paths:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                path.chmod(mode & 0o700)
                tightened.append(path)
        except OSError:
            continue
    return tightened


def file_fault(error: sqlite3.Error, path: Path) -> StoreError:
    """What SQLite says of a file, as our error with the next step."""
    return StoreError(readable_fault(error, path), where=str(path), fix=next_step(error, path))


def readable_fault(error: sqlite3.Error, path: Path) -> str:
    """What SQLite says of a file, as a clause that people understand."""
    message = str(error)
    if is_full(error, path):
        return "nothing was saved: the disk is full"
    if "locked" in message or "busy" in message:
        return "nothing was saved: another program holds the ratings file"
    if "readonly" in message:
        return "nothing was saved: the ratings file may only be read"
    return f"nothing was saved: {message}"


def next_step(error: sqlite3.Error, path: Path) -> str:
    """What to do about it."""
    return "make room on the disk and save again" if is_full(error, path) else "try again in a minute"


def is_full(error: sqlite3.Error, path: Path) -> bool:
    """Whether the disk is full; SQLite calls it an I/O error where it cannot make the files beside the database."""
    if "full" in str(error):
        return True
    try:
        return ("I/O" in str(error) or "unable to open" in str(error)) and shutil.disk_usage(path.parent).free < _ROOM
    except OSError:
        return False
