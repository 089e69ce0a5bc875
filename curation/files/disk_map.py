"""A map of numbers that moves to a temporary file as it grows, so that remembering a million things costs no memory."""

from __future__ import annotations

import sqlite3
from typing import Any

from schemas.core.errors import UserError

LIMIT = 50_000
"""Entries held in memory; those before them lie in the file."""
_CACHE = 16 * 1024  # KiB of the file that SQLite holds
_MARKS = 2**23  # bytes that say which numbers cannot be in the file


class DiskMap:
    """Numbers (64 bits, signed) and what was first said of each.

    Args:
        limit: Entries held in memory.

    Example:
        >>> known = DiskMap(limit=1)
        >>> known.first(7, "a"), known.first(8, "b"), known.first(7, "c")
        (None, None, 'a')
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._held: dict[int, Any] = {}
        self._file: sqlite3.Connection | None = None
        self._marks = bytearray()

    def first(self, number: int, value: Any) -> Any:
        """What was said of a number before; None where nothing was, and then ``value`` (not None) is kept."""
        if (known := self._held.get(number)) is not None:
            return known
        try:
            if self._file is not None and (row := self._look(number)):
                return row[0]
            if len(self._held) >= self._limit:
                self._spill()
        except sqlite3.Error as error:
            raise UserError(
                f"a temporary file cannot be written: {error}", fix="free some space, or name a roomy folder in TMPDIR"
            ) from None
        self._held[number] = value
        return None

    def add(self, number: int) -> bool:
        """Keep a number; whether it is new."""
        return self.first(number, 1) is None

    def get(self, number: int) -> Any:
        """What was said of a number first; None where nothing was."""
        if (known := self._held.get(number)) is not None or self._file is None:
            return known
        row = self._look(number)
        return row[0] if row else None

    def _look(self, number: int) -> Any:
        assert self._file is not None
        if not self._marks[number % _MARKS]:
            return None
        return self._file.execute("SELECT value FROM seen WHERE number = ?", (number,)).fetchone()

    def _spill(self) -> None:
        if self._file is None:
            self._file = sqlite3.connect("")  # a file without a name: it is gone with the process
            self._file.execute("PRAGMA journal_mode = OFF")
            self._file.execute(f"PRAGMA cache_size = -{_CACHE}")
            self._file.execute("CREATE TABLE seen (number INTEGER PRIMARY KEY, value)")
            self._marks = bytearray(_MARKS)
        for number in self._held:
            self._marks[number % _MARKS] = 1
        self._file.executemany("INSERT INTO seen VALUES (?, ?)", sorted(self._held.items()))
        self._held.clear()
