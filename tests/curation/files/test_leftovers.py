"""What killed commands left is named, and removed; nothing else is."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from curation.files.leftovers import clean, leftovers, name_leftovers
from tests.support import ROOT

DEAD = 2**22 + 7  # no process has such a number


def old(path: Path) -> Path:
    for p in (path, *path.rglob("*")):
        os.utime(p, (1, 1))
    return path


def test_a_killed_writer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    code = (
        "import os, signal; from pathlib import Path; from curation.files.atomic import atomic_file\n"
        f"with atomic_file(Path({str(tmp_path / 'split.jsonl')!r})) as file:\n"
        "    file.write('half' * 1000); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == -9
    (leftover,) = leftovers(tmp_path)
    assert leftover.size == 4000 and leftover.path.name.startswith(".split.jsonl.")
    with caplog.at_level(logging.WARNING):
        name_leftovers(tmp_path)
        name_leftovers(tmp_path)
    assert len(caplog.messages) == 1 and f"scedit store clean {tmp_path}" in caplog.messages[0]
    assert clean(tmp_path, dry_run=True) == [leftover] and leftover.path.exists()
    assert clean(tmp_path) == [leftover] and not list(tmp_path.iterdir())


def test_only_what_is_ours_and_left(tmp_path: Path) -> None:
    texts = (f".a.{DEAD}-1.partial", f".s.duckdb.{DEAD}-2.partial.wal")
    others = ("a.partial", f".b.{os.getpid()}-1.partial", f".c.{DEAD}.partial", "x.tmp-12x", f"notes.{DEAD}-1.partial")
    for name in texts + others:
        (tmp_path / name).write_text("x")
    (tmp_path / f"s.duckdb.tmp-{DEAD}").mkdir()
    (tmp_path / f"s.duckdb.tmp-{DEAD}" / "duckdb_temp_block-1.block").write_text("xx")
    (tmp_path / f"mine.tmp-{DEAD}").mkdir()
    (tmp_path / f"mine.tmp-{DEAD}" / "thesis").write_text("x")
    assert {leftover.path.name for leftover in clean(tmp_path)} == {*texts, f"s.duckdb.tmp-{DEAD}"}
    assert {p.name for p in tmp_path.iterdir()} == {*others, f"mine.tmp-{DEAD}"}


def test_an_earlier_release_that_was_set_aside_comes_back(tmp_path: Path) -> None:
    for name in (".r.scedit-old", ".r.scedit-partial", ".new.scedit-partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    assert leftovers(tmp_path) == [], "they may be written just now"
    for name in (".r.scedit-old", ".r.scedit-partial"):
        old(tmp_path / name)
    assert [leftover.path.name for leftover in clean(tmp_path)] == [".r.scedit-old", ".r.scedit-partial"]
    assert (tmp_path / "r" / "a").read_text() == ".r.scedit-old"
    assert sorted(p.name for p in tmp_path.iterdir()) == [".new.scedit-partial", "r"]


def test_no_folder(tmp_path: Path) -> None:
    assert leftovers(tmp_path / "absent") == []
