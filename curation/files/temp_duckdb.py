"""A temporary DuckDB database that lives on the disk and goes with whoever made it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

import duckdb

MEMORY = "256MB"


class TempDatabase:
    """A database in a temporary folder; ``db`` is its connection.

    Example:
        >>> scratch = TempDatabase()
        >>> scratch.db.execute("SELECT 1").fetchone()
        (1,)
    """

    def __init__(self) -> None:
        self._open = ExitStack()  # what is open so far: the folder, then the connection in it
        place = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="scedit-")))
        config = {"memory_limit": MEMORY, "threads": "1", "temp_directory": str(place / "aside")}
        self.db = duckdb.connect(str(place / "scratch.duckdb"), config=config)  # type: ignore[arg-type]
        self._open.callback(self.db.close)

    def __del__(self) -> None:
        self._open.close()
