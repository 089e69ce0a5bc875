"""The tables of a ratings file refuse by themselves what no code above them should let through."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from annotation_ui.ratings.records import SCHEMA

ROWS: dict[str, tuple[Any, ...]] = {
    "campaigns": ("one", "rate_script", "rate_script@2", "{}", "2026"),
    "people": ("ann", "rater", "hash", 0, None, "2026"),
    "sessions": ("token", "ann", "2027"),
    "items": ("one", "i1", "{}", "real", None, 0.5),
    "assignments": ("one", "ann", "i1", 1, 0),
    "revisions": (None, "one", "ann", "i1", "rate_script@2", "{}", 1.5, "2026", "save-1", None),
    "decisions": (None, "one", "i1", "lea", "{}", "2026"),
    "links": ("http://ls", "person", "ann", "7"),
}


def add(file: sqlite3.Connection, table: str, row: tuple[Any, ...]) -> None:
    file.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


@pytest.fixture
def file() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(SCHEMA)
    for table, row in ROWS.items():
        add(connection, table, row)
    yield connection
    connection.close()


@pytest.mark.parametrize("table", ["campaigns", "people", "sessions", "items", "assignments", "links"])
def test_nothing_is_there_twice(file: sqlite3.Connection, table: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        add(file, table, ROWS[table])


def test_a_save_is_there_once_by_its_token_and_saves_without_one_do_not_collide(file: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=r"revisions\.token"):
        add(file, "revisions", ROWS["revisions"])
    for _ in range(2):
        add(file, "revisions", (*ROWS["revisions"][:-2], None, None))
    assert file.execute("SELECT count(*) FROM revisions").fetchone() == (3,)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("items", ("none", "i2", "{}", "real", None, None)),
        ("assignments", ("one", "ann", "i2", 1, 0)),
        ("sessions", ("other", "eve", "2027")),
    ],
)
def test_nothing_points_at_what_is_not_there(file: sqlite3.Connection, table: str, row: tuple[Any, ...]) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        add(file, table, row)


def test_sessions_go_with_their_person_and_answers_do_not(file: sqlite3.Connection) -> None:
    file.execute("DELETE FROM people")
    assert file.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
    assert file.execute("SELECT count(*) FROM revisions").fetchone() == (1,)


def test_the_number_of_a_deleted_revision_is_not_given_again(file: sqlite3.Connection) -> None:
    """The latest revision counts, by its number: one that came back would be older than it is."""
    file.execute("DELETE FROM revisions")
    add(file, "revisions", ROWS["revisions"])
    assert file.execute("SELECT id FROM revisions").fetchone() == (2,)


def test_a_person_s_answers_are_found_without_reading_all(file: sqlite3.Connection) -> None:
    sql = "EXPLAIN QUERY PLAN SELECT max(id) FROM revisions WHERE campaign = 'one' AND person = 'ann' GROUP BY item"
    assert "revisions_by_item" in " ".join(str(r) for r in file.execute(sql).fetchall())
