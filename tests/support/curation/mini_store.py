"""The split mini in a store of its own; a store as an earlier version wrote it."""

from __future__ import annotations

from pathlib import Path

import duckdb

from curation.loaders.importer import import_split
from tests.support.small import small_split


def mini_store(folder: Path) -> Path:
    """Path of a store in the folder that holds all records of mini."""
    path = folder / "s.duckdb"
    import_split(small_split(), path, origin="mini")
    return path


def forget_origins(path: Path) -> None:
    """What the store has since 0.2.0 is gone."""
    with duckdb.connect(str(path)) as db:
        db.execute("DROP TABLE origins; DELETE FROM migrations WHERE name = 'm004_origins'")
