"""The store as a file: what is refused, and that a refused file stays as it is."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from curation.store import connection
from curation.store.connection import connect, examine, limits, transaction
from curation.store.store import Store
from schemas.core.errors import StoreError
from schemas.facts import Fact
from tests.support.facts import peru_fact


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_absent_store_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(StoreError, match="no such store; make one with: scedit data import"):
        Store.open(path)
    assert not path.exists()


def test_a_locked_store_says_who_holds_it(path: Path) -> None:
    Store.open(path, create=True).close()
    code = (
        "import sys; from curation.store.store import Store; from schemas.core.errors import StoreError\n"
        f"try: Store.open({str(path)!r})\nexcept StoreError as e: print(e)"
    )
    with Store.open(path, write=True):
        process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert f"in use by process {os.getpid()}" in process and "wait until it ends" in process


def damaged(path: Path) -> None:
    Store.open(path, create=True).close()
    data = bytearray(path.read_bytes())
    data[4096:12000] = b"\0" * (12000 - 4096)
    path.write_bytes(data)


def truncated(path: Path) -> None:
    Store.open(path, create=True).close()
    path.write_bytes(path.read_bytes()[:5000])


def foreign(path: Path) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE cats (name VARCHAR)")


def other_tables(path: Path) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE meta (name VARCHAR, value VARCHAR)")
        db.execute("CREATE TABLE migrations (name VARCHAR)")


def newer(path: Path) -> None:
    Store.open(path, create=True).close()
    with duckdb.connect(str(path)) as db:
        db.execute("INSERT INTO migrations VALUES ('m999_future', now())")


def text(path: Path) -> None:
    path.write_text("case_id,subject\n" * 50)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (damaged, "the store cannot be read or written: .*restore a backup"),
        (truncated, "the store cannot be read or written: .*restore a backup"),
        (foreign, "something else, not a store"),
        (other_tables, "something else, not a store"),
        (newer, "newer version.*m999_future.*upgrade"),
        (text, "not a DuckDB file"),
        (empty, "not a DuckDB file"),
    ],
)
def test_unsound_files_are_refused_and_untouched(path: Path, make: object, message: str) -> None:
    make(path)  # type: ignore[operator]
    before = sha(path)
    for options in ({}, {"write": True}, {"create": True}):
        with pytest.raises(StoreError, match=message):
            Store.open(path, **options)
    assert sha(path) == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def of_0_2_0(path: Path) -> None:
    """A store as version 0.2.0 wrote it: without origins, and with the names of three migrations."""
    with Store.open(path, create=True) as store:
        store.put([peru_fact()])
    with duckdb.connect(str(path)) as db:
        db.execute("DROP TABLE origins")
        db.execute("DELETE FROM migrations WHERE name = 'm004_origins'")
        db.execute("INSERT INTO migrations VALUES ('m001_initial', now()), ('m002_views', now())")


def test_reading_a_store_of_0_2_0_leaves_it_as_it_is_and_its_first_writer_makes_a_backup(path: Path) -> None:
    of_0_2_0(path)
    before = sha(path)
    with Store.open(path) as store:
        assert store.get("f/peru") == peru_fact() and store.stats()["records"]["fact"]["current"] == 1
    assert sha(path) == before and [p.name for p in path.parent.iterdir()] == [path.name]
    with Store.open(path, write=True) as store:
        store.put([peru_fact("f/2")])
    copy = path.with_name("s.before-m004_origins.duckdb")
    assert sha(copy) == before and "m004_origins" in examine(path)
    with Store.open(copy) as store:
        assert store.get("f/peru") == peru_fact()


def test_a_store_of_an_older_version_is_refused(path: Path) -> None:
    of_0_2_0(path)
    with duckdb.connect(str(path)) as db:
        db.execute("DELETE FROM migrations WHERE name = 'm003_plain_tables'")
    for write in (False, True):
        with pytest.raises(StoreError, match="before 0.2.0"):
            Store.open(path, write=write)


def test_a_migration_that_fails_leaves_nothing_of_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def m999_broken(db: connection.Connection) -> None:
        db.execute("CREATE TABLE half (n INTEGER)")
        raise KeyboardInterrupt

    of_0_2_0(path)
    monkeypatch.setattr(connection, "MIGRATIONS", [connection.MIGRATIONS[0], m999_broken])
    with pytest.raises(KeyboardInterrupt):
        Store.open(path, write=True)
    assert "m999_broken" not in examine(path)
    with Store.open(path) as store, pytest.raises(duckdb.CatalogException):
        store._db.execute("SELECT * FROM half")


DAMAGE = [(12288 + 9000, 64, 3000), (12288 + 200_000, 64, 3000), (-5000, 64, 3000)]
FLIPS = [(place + 9, 1, 1) for place in range(0, 12288, 1024)]  # DuckDB keeps two headers with checksums


@pytest.mark.parametrize(("place", "length", "facts"), DAMAGE + FLIPS)
def test_damage_is_one_sentence_or_none_and_the_file_stays(path: Path, place: int, length: int, facts: int) -> None:
    with Store.open(path, create=True) as store:
        store.put(peru_fact(f"f/{n}") for n in range(facts))
    data = bytearray(path.read_bytes())
    for n in range(length):
        data[place + n] ^= 0xFF
    path.write_bytes(data)
    try:
        with Store.open(path) as store:
            assert len(list(store.all(Fact))) == facts
    except StoreError as error:
        assert str(path) in str(error) and "\n" not in str(error)
    assert path.read_bytes() == bytes(data)


def test_a_store_killed_before_its_first_table_is_made_anew(path: Path) -> None:
    """A DuckDB file without any table is what such a kill leaves; it is no foreign file."""
    duckdb.connect(str(path)).close()
    assert examine(path) == set()
    with Store.open(path, write=True) as store:
        store.put([peru_fact()])
    assert examine(path) == {m.__name__ for m in connection.MIGRATIONS}


def test_folders_are_made_for_a_new_store_where_they_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="the folder cannot be made") as error:
        Store.open(tmp_path / "file" / "s.duckdb", create=True)
    assert error.value.where == str(tmp_path / "file")
    Store.open(tmp_path / "a" / "b" / "s.duckdb", create=True).close()
    with pytest.raises(StoreError) as error:
        connect(tmp_path / "a" / "b", write=False)
    assert error.value.where == str(tmp_path / "a" / "b"), "a folder is no store"


def test_two_readers_at_once_and_no_writer_beside_them(path: Path) -> None:
    Store.open(path, create=True).close()
    code = (
        "import sys; from curation.store.store import Store; from schemas.core.errors import StoreError\n"
        f"Store.open({str(path)!r}).close(); print('read')\n"
        f"try: Store.open({str(path)!r}, write=True)\nexcept StoreError as e: print(e)"
    )
    with Store.open(path):
        process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert process.startswith("read\n") and "in use by process" in process


def test_what_killed_processes_left_is_cleared_by_the_next_writer_only(path: Path) -> None:
    Store.open(path, create=True).close()
    leftover, partial_path = path.with_name("s.duckdb.tmp-1"), path.with_name(f"s.duckdb.tmp-{os.getpid()}")
    other = path.with_name("t.duckdb.tmp-1")
    for folder in (leftover, partial_path, other):
        folder.mkdir()
        (folder / "block").write_text("x")
    Store.open(path).close()
    assert leftover.exists(), "a reader may be one of several"
    Store.open(path, write=True).close()
    assert (leftover.exists(), partial_path.exists(), other.exists()) == (False, True, True)


def test_memory_is_what_the_environment_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_STORE_MEMORY", "123MB")
    assert limits(path)["memory_limit"] == "123MB"
    monkeypatch.setenv("SCEDIT_STORE_MEMORY", "")
    assert limits(path)["memory_limit"] == "384MB"
    with connect(path, write=True) as db:
        assert db.execute("SELECT current_setting('memory_limit')") == [("366.2 MiB",)]


def test_a_transaction_keeps_all_or_nothing(path: Path) -> None:
    with connect(path, write=True) as db:
        db.execute("CREATE TABLE t (n INTEGER UNIQUE)")
        with transaction(db, path):
            db.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(KeyboardInterrupt), transaction(db, path):
            db.execute("INSERT INTO t VALUES (2)")
            raise KeyboardInterrupt
        with pytest.raises(StoreError, match="could not be written: Constraint Error") as error, transaction(db, path):
            db.execute("INSERT INTO t VALUES (3)")
            db.execute("INSERT INTO t VALUES (1)")
        assert error.value.where == str(path) and "\n" not in str(error.value)
        assert db.execute("SELECT n FROM t") == [(1,)]
