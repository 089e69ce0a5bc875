"""The ratings file: saves are append-only and survive kill -9, nobody else reads it, faults are sentences."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
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
from schemas.core.errors import StoreError, UserError


def item(n: int, stratum: str = "") -> TaskItem:
    return TaskItem(id=f"{n:020x}", case=f"c/{n // 2}", stratum=stratum, shown={"script": f"Step 1: Walk {n}"})


@pytest.fixture
def db(tmp_path: Path) -> RatingsDB:
    db = RatingsDB(tmp_path / "r.sqlite", create=True)
    db.add_campaign(Campaign("one", "rate_executability", "rate_executability@1", {}, "2026-01-01T00:00:00"))
    items = [item(n) for n in range(4)]
    campaign_items = [CampaignItem(i) for i in items]
    db.add_items(
        "one", campaign_items, [Assignment(p, i.id, 1, n) for p in ("ann", "bob") for n, i in enumerate(items)]
    )
    return db


def save(db: RatingsDB, n: int, value: int | None, *, person: str = "ann", token: str | None = None) -> int:
    answers = None if value is None else {"executability": value}
    return db.save("one", person, item(n).id, answers, form="rate_executability@1", seconds=1.5, token=token)


def test_a_save_sent_twice_is_one(db: RatingsDB) -> None:
    assert save(db, 0, 3, token="t") == save(db, 0, 3, token="t")
    assert len(db.history("one")) == 1


def test_an_item_of_somebody_else_is_refused(db: RatingsDB) -> None:
    with pytest.raises(UserError, match="is not assigned to 'eve'"):
        save(db, 0, 3, person="eve")


def test_an_answered_assignment_is_never_taken_back(db: RatingsDB) -> None:
    save(db, 0, 3)
    assignments = db.assignments("one", "ann")
    db.add_items("one", [], [], assignments)
    assert [a.item for a in db.assignments("one", "ann")] == [item(0).id]


def test_a_campaign_keeps_its_form(db: RatingsDB) -> None:
    with pytest.raises(UserError, match="is there already, with the form rate_executability@1"):
        db.add_campaign(Campaign("one", "rate_executability", "rate_executability@3", {}, ""))
    with pytest.raises(UserError, match="no campaign 'two'; allowed: one"):
        db.campaign("two")


def test_absent_foreign_and_newer_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such ratings file"):
        RatingsDB(tmp_path / "none")
    with pytest.raises(StoreError, match="cannot be opened: unable to open database file"):
        RatingsDB(tmp_path)
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one " * 30)
    with pytest.raises(StoreError, match="not readable as a ratings file"):
        RatingsDB(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    with pytest.raises(StoreError, match="no ratings file"):
        RatingsDB(tmp_path / "other")
    RatingsDB(tmp_path / "new", create=True).close()
    for version in (1, 99):
        file = sqlite3.connect(tmp_path / "new")
        file.execute(f"PRAGMA user_version = {version}")
        file.close()
        with pytest.raises(StoreError, match=f"has version {version}, this program reads"):
            RatingsDB(tmp_path / "new")


_WRITER = """
    import sys
    from annotation_ui.ratings.database import RatingsDB
    path, person, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    db = RatingsDB(path)
    mine = [a.item for a in db.assignments("one", person)]
    for n in range(count):
        db.save("one", person, mine[n % len(mine)], {"executability": n % 7 + 1, "comment": "x" * 500},
                form="rate_executability@1")
        print(n, flush=True)
"""


def _writer(path: Path, person: str, count: int) -> subprocess.Popen[str]:
    code = textwrap.dedent(_WRITER)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path), person, str(count)], stdout=subprocess.PIPE, text=True
    )


def test_writers_at_once_lose_nothing(db: RatingsDB) -> None:
    writers = [_writer(db.path, person, 40) for person in ("ann", "bob")]
    assert [w.wait(60) for w in writers] == [0, 0]
    assert [len(db.history("one", person=p)) for p in ("ann", "bob")] == [40, 40]
    for w in writers:
        assert w.stdout is not None
        w.stdout.close()


def test_kill_loses_no_acknowledged_save(db: RatingsDB) -> None:
    writer = _writer(db.path, "ann", 100_000)
    assert writer.stdout is not None
    for _ in range(25):
        last = int(writer.stdout.readline())
    os.kill(writer.pid, signal.SIGKILL)
    rest = writer.stdout.read().split()
    writer.wait()
    writer.stdout.close()
    acknowledged = int(rest[-1]) + 1 if rest else last + 1
    revisions = db.history("one")
    assert acknowledged <= len(revisions) <= acknowledged + 1
    assert all(r.answers and len(r.answers["comment"]) == 500 for r in revisions)
    assert db.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


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


def test_a_lock_while_something_is_read_is_a_sentence(db: RatingsDB) -> None:
    with pytest.raises(StoreError, match="another program holds"), RatingsDB(db.path):
        raise sqlite3.OperationalError("database is locked")
