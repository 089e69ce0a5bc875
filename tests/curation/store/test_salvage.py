"""What is readable of a damaged store is saved, and the rest is listed; nothing is made up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from curation.loaders.importer import import_split
from curation.shipped import mini_split
from curation.store.connection import limits
from curation.store.damage import BLOCK, HEADER, broken_tables
from curation.store.salvage import STEP, look, salvage
from curation.store.store import Store
from schemas.core.errors import StoreError, UserError
from schemas.facts import Fact, Object
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import peru_fact


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Mini, and enough facts for three portions; two versions of one, and a verdict on it."""
    path = tmp_path_factory.mktemp("sound") / "s.duckdb"
    import_split(mini_split(), path, origin="tests")
    with Store.open(path, write=True) as store:
        store.put([peru_fact(f"f/{n:05d}") for n in range(2 * STEP)])
        store.put([peru_fact("f/00000", old=Object(text="Lima", aliases=("x",)))])
        item = store.get("f/00000")
        by = "leak_in_question@1"
        store.put([Verdict(key=verdict_key(item_id=item.id, by=by), item_id=item.id, by=by, label="keep")])
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path / "s.duckdb"))


def content(path: Path) -> set[str]:
    with Store.open(path) as store:
        return {json.dumps(x, sort_keys=True) for x in store.everything()}


def spoil(path: Path, place: int, length: int = 1) -> None:
    data = bytearray(path.read_bytes())
    for n in range(place, place + length):
        data[n] ^= 0xFF
    path.write_bytes(data)


def blocks(path: Path) -> range:
    return range((path.stat().st_size - 3 * HEADER) // BLOCK)


def test_a_sound_store_is_saved_as_it_is(path: Path, tmp_path: Path) -> None:
    salvage_result = salvage(path, tmp_path / "new.duckdb")
    assert salvage_result.lost == () and content(tmp_path / "new.duckdb") == content(path)
    assert look(path) == ((), ())
    with Store.open(tmp_path / "new.duckdb") as store:
        assert isinstance(fact := store.get("f/00000"), Fact) and fact.old.aliases == ("x",)


def test_blocks_all_over_the_file_in_turn(path: Path, tmp_path: Path) -> None:
    """Whatever block is spoilt: what is saved was in the store, and all that is not saved is on the list."""
    full_content, data = {x for x in content(path) if not x.startswith('["source"')}, path.read_bytes()
    for number in blocks(path)[::3]:  # every third: of each kind of block there are several
        path.write_bytes(data)
        spoil(path, 3 * HEADER + number * BLOCK + 3000)
        before, new = path.read_bytes(), tmp_path / f"{number}.duckdb"
        try:
            salvage_result = salvage(path, new)
        except StoreError as error:
            assert "nothing can be found" in str(error) and not new.exists()
            continue
        texts = {x for x in content(new) if not x.startswith('["source"')}
        assert texts <= full_content and path.read_bytes() == before
        rows = [
            loss for loss in salvage_result.lost if loss.table in ("records", "lineage") and " to " not in loss.what
        ]
        spans = [
            loss.what.split()
            for loss in salvage_result.lost
            if " to " in loss.what and loss.table in ("records", "lineage")
        ]
        count = len(rows) + sum(int(s[3]) - int(s[1]) + 1 for s in spans)
        kinds = [json.loads(x)[0] for x in full_content - texts]
        assert len(kinds) - kinds.count("split") == count, number
        assert kinds.count("split") == sum(loss.table == "splits" for loss in salvage_result.lost)
        unused = look(path).blocks == ()  # a block of the free list: nothing can be lost with it
        assert look(path).blocks == (number,) or (unused and texts == full_content and not salvage_result.lost)


def test_keys_of_lost_records_are_listed_where_they_can_be_read(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    for number in reversed(blocks(path)):
        path.write_bytes(data)
        spoil(path, 3 * HEADER + number * BLOCK + 3000)
        if broken_tables(path, limits(path)) != ("records",):
            continue
        salvage_result = salvage(path, tmp_path / f"{number}.duckdb")
        keys = {
            loss.what for loss in salvage_result.lost if loss.table == "records" and "content cannot" in loss.reason
        }
        if keys:
            with Store.open(tmp_path / f"{number}.duckdb") as store:
                assert keys and not store.known([]) and salvage_result.saved["records"] > 0
                fact_keys = {key for key, _ in store.keys("fact")}
            assert not (keys - {"f/00000"}) & fact_keys, "of the one key there are two versions"
            return
    raise AssertionError("no block holds contents alone")


@pytest.mark.parametrize("losses", [HEADER, 8])
def test_the_first_header_is_lost(path: Path, tmp_path: Path, losses: int) -> None:
    full_content = content(path)
    path.write_bytes(bytes(losses) + path.read_bytes()[losses:])
    with pytest.raises(StoreError):
        Store.open(path)
    assert salvage(path, tmp_path / "new.duckdb").lost == () and content(tmp_path / "new.duckdb") == full_content


@pytest.mark.parametrize("losses", [1, 2])
def test_one_of_the_two_headers_of_states_is_lost(path: Path, tmp_path: Path, losses: int) -> None:
    """DuckDB writes them in turn: nothing is lost with the older; with the newer, it is said."""
    full_content, data = content(path), bytearray(path.read_bytes())
    states = [int.from_bytes(data[n * HEADER + 8 : n * HEADER + 16], "little") for n in (1, 2)]
    data[losses * HEADER : (losses + 1) * HEADER] = bytes(HEADER)
    path.write_bytes(data)
    salvage_result = salvage(path, tmp_path / "new.duckdb")
    assert [loss.table for loss in salvage_result.lost if loss.table == "header"] == ["header"]
    if states[losses - 1] < max(states):
        assert len(salvage_result.lost) == 1 and content(tmp_path / "new.duckdb") == full_content
    else:
        assert set(content(tmp_path / "new.duckdb")) <= set(full_content)


def test_nothing_to_find(path: Path, tmp_path: Path) -> None:
    path.write_bytes(bytes(3 * HEADER) + path.read_bytes()[3 * HEADER :])
    with pytest.raises(StoreError, match="nothing can be found in it.*restore a backup"):
        salvage(path, tmp_path / "new.duckdb")
    (tmp_path / "text").write_text("no store")
    with pytest.raises(StoreError, match="nothing can be found"):
        salvage(tmp_path / "text", tmp_path / "new.duckdb")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.duckdb", "text"]


def test_a_file_that_is_cut_off(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: 3 * HEADER + len(blocks(path)) // 2 * BLOCK + 999])
    salvage_result = salvage(path, tmp_path / "new.duckdb")
    assert salvage_result.lost and content(tmp_path / "new.duckdb") is not None


def test_a_log_that_is_not_its_own(path: Path, tmp_path: Path) -> None:
    full_content = content(path)
    path.with_name("s.duckdb.wal").write_bytes(b"not a log at all" * 99)
    assert salvage(path, tmp_path / "new.duckdb").saved["records"] > STEP
    assert content(tmp_path / "new.duckdb") == full_content


def test_content_that_is_not_that_of_its_id_is_not_saved(path: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute("UPDATE records SET body = replace(body, 'Lima', 'Rima') WHERE key = 'f/00003'")
        db.execute("UPDATE records SET body = '{' WHERE key = 'f/00004'")
    salvage_result = salvage(path, tmp_path / "new.duckdb")
    assert {loss.what for loss in salvage_result.lost} == {"f/00003", "f/00004"}
    assert all("no valid content" in loss.reason for loss in salvage_result.lost)


def test_places(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exists already"):
        salvage(path, path)
    with pytest.raises(UserError, match="no such store"):
        salvage(tmp_path / "absent", tmp_path / "new.duckdb")
    with pytest.raises(UserError, match="no such store"):
        look(tmp_path / "absent")
    assert broken_tables(path, limits(path)) == ()
