"""A large store is not read whole by every command, and a byte that is changed between two is still noticed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from curation.store import damage, last_look
from curation.store.damage import BLOCK, HEADER
from curation.store.store import Store
from schemas.core.errors import StoreError
from tests.support.facts import peru_fact


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(last_look, "LARGE", 1)
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every look at all blocks."""
    calls: list[Path] = []
    real = damage.bad_blocks
    monkeypatch.setattr(damage, "bad_blocks", lambda path: (calls.append(path), real(path))[1])
    return calls


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store_path = tmp_path / "s.duckdb"
    with Store.open(store_path, create=True) as store:
        store.put([peru_fact()])
    return store_path


def add(path: Path, key: str) -> None:
    with Store.open(path, write=True) as store:
        store.put([peru_fact(key)])


def flip(path: Path) -> None:
    """A byte in every block, by another program, a moment later (the clocks of files tick every few ms)."""
    time.sleep(0.05)
    with open(path, "r+b") as file:
        for start in range(3 * HEADER, path.stat().st_size, BLOCK):
            file.seek(start + 100)
            byte = file.read(1)[0]
            file.seek(start + 100)
            file.write(bytes([byte ^ 1]))


def test_one_look_then_none(path: Path, looks: list[Path]) -> None:
    for number in range(4):
        add(path, f"f/{number}")
    assert len(looks) == 1


@pytest.mark.parametrize("times", ["as they come", "set back"])
def test_a_byte_between_two_commands_is_noticed(path: Path, times: str) -> None:
    add(path, "f/1")
    add(path, "f/2")
    before = path.stat()
    flip(path)
    if times == "set back":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(StoreError, match="damaged and was left untouched"):
        add(path, "f/3")


def test_another_file_under_the_name(path: Path, looks: list[Path], tmp_path: Path) -> None:
    add(path, "f/1")
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    os.replace(copy, path)
    add(path, "f/2")
    assert len(looks) == 2


@pytest.mark.parametrize("hours", [25, -1])
def test_a_look_holds_for_a_day(path: Path, looks: list[Path], hours: int) -> None:
    add(path, "f/1")
    place = last_look._place(path)
    data = json.loads(place.read_bytes())
    place.write_text(json.dumps({**data, "looked": data["looked"] - hours * 3600}))
    add(path, "f/2")
    assert len(looks) == 2


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"looked": "x", "state": []}', "\x00"])
def test_a_spoilt_memory_is_none(path: Path, looks: list[Path], content: str) -> None:
    add(path, "f/1")
    last_look._place(path).write_text(content)
    add(path, "f/2")
    assert len(looks) == 2


def test_where_nothing_can_be_remembered(path: Path, looks: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", "/dev/null/cache")
    add(path, "f/1")
    add(path, "f/2")
    assert len(looks) == 2


def test_small_stores_are_always_looked_at(path: Path, looks: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_look, "LARGE", 10**9)
    add(path, "f/1")
    add(path, "f/2")
    assert len(looks) == 2
