from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import duckdb
import pytest

from curation.files.temp_duckdb import TempDatabase


def test_it_goes_with_whoever_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one, other = TempDatabase(), TempDatabase()
    one.db.execute("CREATE TABLE t AS SELECT 1 AS n")
    assert len(list(tmp_path.iterdir())) == 2, "two do not share a place"
    assert other.db.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (0,)
    del one, other
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_database_that_does_not_open_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise duckdb.IOException("no space")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(duckdb, "connect", refuse)
    with pytest.raises(duckdb.IOException):
        TempDatabase()
    gc.collect()
    assert not list(tmp_path.iterdir())
