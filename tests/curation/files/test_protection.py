"""What is held is not written over, by any name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from curation.files.atomic import write_text
from curation.files.protection import hold, real, refuse_held, release
from schemas.core.errors import UserError


@pytest.mark.parametrize("name", ["store", "hard", "soft", "folder/store", "store.wal"])
def test_a_held_file_stays_under_every_name(tmp_path: Path, name: str) -> None:
    store = tmp_path / "store"
    store.write_text("old")
    os.link(store, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(store)
    (tmp_path / "folder").symlink_to(tmp_path)
    lock = hold(store, "the store in use")
    with pytest.raises(UserError, match="this is the store in use and stays as it is; nothing was written"):
        write_text(tmp_path / name, "new")
    assert store.read_text() == "old" and not (tmp_path / "store.wal").exists()
    write_text(tmp_path / "store2", "another file is free")
    release(lock)
    release(lock)
    write_text(tmp_path / name, "new")


def test_holding_twice_needs_releasing_twice(tmp_path: Path) -> None:
    one, two = hold(tmp_path / "a", "x"), hold(tmp_path / "a", "x")
    release(one)
    release(one)
    with pytest.raises(UserError, match="this is x"):
        refuse_held(tmp_path / "a")
    release(two)
    refuse_held(tmp_path / "a")


def test_a_file_that_becomes_held_while_it_is_written_stays(tmp_path: Path) -> None:
    from curation.files.atomic import atomic_path

    with pytest.raises(UserError, match="an input"), atomic_path(tmp_path / "a") as partial:
        partial.write_text("new")
        (tmp_path / "a").write_text("old")
        lock = hold(tmp_path / "a", "an input")
    release(lock)
    assert [p.name for p in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_text() == "old"


def test_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert real(Path("a/../b")) == tmp_path.resolve() / "b"
    assert real(Path(".")) == tmp_path.resolve()
    with pytest.raises(UserError, match="no place to write to"):
        real(Path("a\0b"))
