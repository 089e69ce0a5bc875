"""Migrations are applied in order, once, each whole or not at all."""

from __future__ import annotations

import duckdb
import pytest

from curation.store import migrations
from curation.store.migrations import MIGRATIONS, apply

NAMES = [step.__name__ for step in MIGRATIONS]


@pytest.fixture
def db() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE migrations (name VARCHAR, applied_at TIMESTAMP)")
    return connection


def names(db: duckdb.DuckDBPyConnection) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM migrations").fetchall()]


def test_they_are_numbered_in_order() -> None:
    assert [name[:4] for name in NAMES] == [f"m{n:03d}" for n in range(1, len(NAMES) + 1)]


def test_only_what_is_left_is_done(db: duckdb.DuckDBPyConnection) -> None:
    assert apply(db, done=set()) == NAMES == names(db)
    assert apply(db, done=set(NAMES)) == []


def test_records_outlive_the_change_of_their_table(db: duckdb.DuckDBPyConnection) -> None:
    later = set(NAMES[2:])
    apply(db, done=later)
    for n in (1, 2, 3):
        db.execute("INSERT INTO records VALUES (DEFAULT, ?, 'fact', ?, NULL, TRUE, '{}')", [f"i{n}", f"k{n}"])
    assert apply(db, done=set(NAMES) - later) == NAMES[2:]
    assert db.execute("SELECT seq, id, key FROM records ORDER BY seq").fetchall() == [
        (n, f"i{n}", f"k{n}") for n in (1, 2, 3)
    ]
    db.execute("INSERT INTO records VALUES (DEFAULT, 'i4', 'fact', 'k4', NULL, TRUE, '{}')")
    assert db.execute("SELECT max(seq) FROM records").fetchone() == (4,), "numbers go on"


def test_a_migration_that_fails_leaves_nothing_of_itself(
    db: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def m999_broken(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("CREATE TABLE half (n INTEGER)")
        raise KeyboardInterrupt

    monkeypatch.setattr(migrations, "MIGRATIONS", [MIGRATIONS[0], m999_broken])
    with pytest.raises(KeyboardInterrupt):
        apply(db, done=set())
    assert names(db) == NAMES[:1]
    with pytest.raises(duckdb.CatalogException):
        db.execute("SELECT * FROM half")
