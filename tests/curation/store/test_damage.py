"""A damaged store: one sentence everywhere, nothing more is written, and every block is looked at."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from curation.loaders.importer import import_split
from curation.shipped import mini_split
from curation.store.backup import dump, query, snapshot
from curation.store.connection import connect, limits
from curation.store.damage import BLOCK, HEADER, bad_blocks, broken_tables, is_damage, refuse_damaged
from curation.store.store import Store
from schemas.core.errors import StoreError, UserError
from schemas.facts import Fact
from tests.support.facts import peru_fact


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "s.duckdb"
    import_split(mini_split(), path, origin="tests")
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path / "s.duckdb"))


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)


def test_a_sound_store_has_no_bad_block(path: Path) -> None:
    assert bad_blocks(path) == () and broken_tables(path, limits(path)) == ()
    refuse_damaged(path, limits(path))


def outcome(act: Callable[[], object]) -> str:
    """What came of it: '' or the sentence; anything but a UserError is a traceback, and fails the test."""
    try:
        act()
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("places", [6, pytest.param(40, marks=pytest.mark.slow)])
def test_random_places(path: Path, tmp_path: Path, places: int) -> None:
    """No traceback, no write, and nothing read that was not written."""
    full_content, rng = path.read_bytes(), random.Random(14)
    count = 0
    for place in (rng.randrange(len(full_content)) for _ in range(places)):
        path.write_bytes(full_content)
        flip(path, place)
        damaged = path.read_bytes()

        def reads() -> None:
            with Store.open(path) as store:
                dump(store, tmp_path / "d")

        def writes() -> None:
            with Store.open(path, write=True) as store:
                store.put([peru_fact("f/more")])

        listing, text = outcome(writes), outcome(reads)
        in_block = place >= 3 * HEADER
        assert bool(listing) or not in_block, place
        for sentence in filter(None, (listing, text)):
            count += 1
            assert sentence.startswith(str(path)) and "\n" not in sentence
            assert not in_block or ("damaged" in sentence and "scedit store salvage" in sentence), sentence
        if listing:
            assert path.read_bytes() == damaged and not (tmp_path / "s.duckdb.wal").exists()
        assert (tmp_path / "d").exists() == (not text)
        (tmp_path / "d").unlink(missing_ok=True)
    assert count > places


@pytest.mark.parametrize(
    "function",
    [
        lambda path: query(path, "SELECT sum(length(body)) FROM records"),
        lambda path: snapshot(Store.open(path), path.with_name("copy")),
        lambda path: list(Store.open(path).all(Fact)),
        lambda path: list(Store.open(path).open_split("mini").cases),
    ],
    ids=["sql", "backup", "all", "split"],
)
def test_every_reader_says_it_alike(path: Path, function: Callable[[Path], object]) -> None:
    size = path.stat().st_size
    for number in range((size - 3 * HEADER) // BLOCK):
        flip(path, 3 * HEADER + number * BLOCK + BLOCK // 2)
    with pytest.raises(StoreError, match="the file is damaged and was left untouched.*scedit store salvage"):
        function(path)


def test_which_tables_are_whole_is_said(path: Path) -> None:
    for number in range(1, (path.stat().st_size - 3 * HEADER) // BLOCK):
        flip(path, 3 * HEADER + number * BLOCK + 5000)
        tables = broken_tables(path, limits(path))
        if tables == ("records",):
            with pytest.raises(StoreError, match="whole are lineage, splits, split_cases, results; save what"):
                Store.open(path, write=True)
            return
        flip(path, 3 * HEADER + number * BLOCK + 5000)
    raise AssertionError("no block holds records alone")


def test_a_file_that_is_cut_off(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - BLOCK // 2])
    assert bad_blocks(path) == ((len(data) - 3 * HEADER) // BLOCK - 1,)
    with pytest.raises(StoreError, match="damaged and was left untouched"):
        Store.open(path, write=True)
    assert path.stat().st_size == len(data) - BLOCK // 2


@pytest.mark.parametrize("rest", [bytes(BLOCK), b"x" * BLOCK, b"x" * 700])
def test_what_a_killed_writer_left_behind_the_last_block_is_no_damage(path: Path, rest: bytes) -> None:
    """A kill while the log is written into the file: the headers do not count what was begun."""
    path.write_bytes(path.read_bytes() + rest + bytes(BLOCK))
    assert bad_blocks(path) == ()
    with Store.open(path, write=True) as store:
        store.put([peru_fact("f/more")])
    with Store.open(path) as store:
        assert store.get("f/more") and list(store.open_split("mini").cases)
    flip(path, 3 * HEADER + BLOCK // 2)
    assert bad_blocks(path) == (0,)


def test_only_blocks_of_the_free_list_may_be_as_they_like(path: Path) -> None:
    """An index lies in no table's blocks: a flip there was taken for one in a free block, and written over."""
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE filler AS SELECT hash(range) AS h FROM range(200000)")
        db.execute("CHECKPOINT")
        db.execute("CREATE TABLE last AS SELECT hash(range) AS h FROM range(50000)")
        db.execute("CHECKPOINT")
        db.execute("DROP TABLE filler")
        db.execute("CHECKPOINT")
    with duckdb.connect(str(path), read_only=True) as db:
        free = int(db.execute("SELECT free_blocks FROM pragma_database_size()").fetchall()[0][0])
    full_content, blocks = path.read_bytes(), []
    for block in range((len(full_content) - 3 * HEADER) // BLOCK):
        flip(path, 3 * HEADER + block * BLOCK + BLOCK // 2)
        if bad_blocks(path) == ():
            blocks.append(block)
            refuse_damaged(path, limits(path))
        else:
            assert bad_blocks(path) == (block,)
            with pytest.raises(StoreError, match="damaged and was left untouched"):
                Store.open(path, write=True)
        path.write_bytes(full_content)
    assert 0 < len(blocks) == free


def test_half_a_block_that_nothing_uses_is_no_damage(path: Path) -> None:
    """A killed writer leaves such blocks: they are free, and the store is whole."""
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE filler AS SELECT hash(range) AS h FROM range(400000)")
        db.execute("CHECKPOINT")
        blocks = (path.stat().st_size - 3 * HEADER) // BLOCK
        db.execute("CREATE TABLE last AS SELECT hash(range) AS h FROM range(100000)")
        db.execute("CHECKPOINT")
        db.execute("DROP TABLE filler")
        db.execute("CHECKPOINT")
        free = db.execute("SELECT free_blocks FROM pragma_database_size()").fetchall()[0][0]
    assert free > 2
    for number in range(blocks - 6, blocks):
        flip(path, 3 * HEADER + number * BLOCK + 77)
        if broken_tables(path, limits(path)) == () and len(bad_blocks(path)) == 1:
            refuse_damaged(path, limits(path))
            return
        flip(path, 3 * HEADER + number * BLOCK + 77)


LEAVES_A_LOG = (
    "import duckdb, os, sys; db = duckdb.connect(sys.argv[1]); "
    "db.execute('CREATE TABLE IF NOT EXISTS cats (n INTEGER)'); db.execute('INSERT INTO cats VALUES (1)'); os._exit(0)"
)


def log_of(path: Path) -> Path:
    """The write-ahead log that a killed writer leaves beside a file."""
    subprocess.run([sys.executable, "-c", LEAVES_A_LOG, str(path)], check=True)
    return path.with_name(path.name + ".wal")


@pytest.mark.parametrize("kind", ["foreign", "flipped"])
def test_a_write_ahead_log_that_is_not_its_own(path: Path, tmp_path: Path, kind: str) -> None:
    log = log_of(tmp_path / "other.duckdb" if kind == "foreign" else path)
    log = log.rename(path.with_name("s.duckdb.wal"))
    if kind == "flipped":
        flip(log, 60)
    before = path.read_bytes(), log.read_bytes()
    for write in (False, True):
        with pytest.raises(StoreError, match="damaged and was left untouched.*WAL.*scedit store salvage"):
            Store.open(path, write=write)
    assert (path.read_bytes(), log.read_bytes()) == before


def test_a_write_ahead_log_that_is_missing(path: Path) -> None:
    """What stood in it alone is gone; the store is as its last complete step left it."""
    log_of(path).unlink()
    with Store.open(path, write=True) as store:
        assert len(store.split("mini").cases) == 58


def test_a_faulty_statement_is_no_damage(path: Path) -> None:
    with connect(path, write=False) as db, pytest.raises(duckdb.Error) as error:
        db.execute("SELECT 'checksum Corrupt INTERNAL' FROM nowhere")
    assert not is_damage(error.value)
    with pytest.raises(UserError, match="the query fails"):
        query(path, "SELECT CAST('checksum' AS INTEGER)")
