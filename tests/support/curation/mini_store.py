"""The split mini in a store of its own."""

from __future__ import annotations

from pathlib import Path

from curation.loaders.importer import import_split
from tests.support.small import small_split


def mini_store(folder: Path) -> Path:
    """Path of a store in the folder that holds all records of mini."""
    path = folder / "s.duckdb"
    import_split(small_split(), path, origin="mini")
    return path
