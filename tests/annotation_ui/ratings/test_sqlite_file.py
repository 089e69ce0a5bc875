"""Opening a ratings file: nobody else reads it, and faults are sentences."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from annotation_ui.ratings import database
from annotation_ui.ratings.database import (
    Assignment,
    Campaign,
    CampaignItem,
    RatingsDB,
    file_fault,
    is_full,
)
from annotation_ui.tasks.base import TaskItem
from schemas.core.errors import StoreError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def filled(db: RatingsDB) -> None:
    db.add_campaign(Campaign("c", "rate_executability", "rate_executability@1", {}, "2026"))
    item = TaskItem(id="i", case="x", shown={"script": "s"})
    db.add_items("c", [CampaignItem(item)], [Assignment("ann", "i", 1, 0)])


def test_the_file_and_what_lies_beside_it_are_the_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with RatingsDB(path, create=True) as db:
        filled(db)
        siblings = [p for p in tmp_path.iterdir() if p.name.startswith("r.sqlite")]
        assert len(siblings) == 3, "the log and its index are there while the file is open"
        assert {mode(p) for p in siblings} == {0o600}


def test_what_others_could_read_is_tightened_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "r.sqlite"
    with RatingsDB(path, create=True) as db:
        filled(db)
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).chmod(0o664)
        with caplog.at_level(logging.WARNING), RatingsDB(path):
            pass
        assert {mode(path.with_name(path.name + end)) for end in ("", "-wal", "-shm")} == {0o600}
    assert len([r for r in caplog.records if "its owner's alone" in r.getMessage()]) == 3
    caplog.clear()
    with caplog.at_level(logging.WARNING), RatingsDB(path):
        assert not caplog.records, "it is said once"


def test_a_full_disk_is_one_sentence_and_nothing_is_half_saved(tmp_path: Path) -> None:
    with RatingsDB(tmp_path / "r", create=True) as db:
        filled(db)
        pages = db.connection.execute("PRAGMA page_count").fetchone()[0]
        db.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="nothing was saved: the disk is full; make room"):
            for _ in range(50):
                db.save("c", "ann", "i", {"executability": 1, "comment": "x" * 4000}, form="f")
        count = len(db.history("c"))
        db.connection.execute("PRAGMA max_page_count = 100000")
        db.save("c", "ann", "i", {"executability": 2}, form="f")
        assert len(db.history("c")) == count + 1
        assert db.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_locked_file_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY", 0.05)
    with RatingsDB(tmp_path / "r", create=True) as db, RatingsDB(tmp_path / "r") as other:
        filled(db)
        other.connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program holds the ratings file; try again"):
            db.save("c", "ann", "i", {"executability": 1}, form="f")
        other.connection.execute("ROLLBACK")
        db.save("c", "ann", "i", {"executability": 1}, form="f")
        assert len(db.history("c")) == 1


@pytest.mark.parametrize("message", ["disk I/O error", "unable to open database file", "database or disk is full"])
def test_a_disk_too_full_for_the_files_beside_it_is_called_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    """SQLite says so where it cannot make the log: tried on a tmpfs of 600 kB that was filled."""
    error, usage = sqlite3.OperationalError(message), shutil.disk_usage(tmp_path)
    assert is_full(error, tmp_path / "r") == ("full" in message), "there is room: it is something else"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=4096))
    fault = file_fault(error, tmp_path / "r")
    assert fault.what == "nothing was saved: the disk is full" and str(fault.fix).startswith("make room")
    assert not is_full(sqlite3.OperationalError("database is locked"), tmp_path / "r")
