"""A file is whole or not there, a command replaces its own output alone, and a journal keeps every line."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from curation.files.atomic import (
    atomic_file,
    atomic_folder,
    atomic_path,
    outputs_of,
    write_bytes,
    write_json,
    write_text,
)
from curation.files.journal import Journal
from curation.files.json_files import json_lines, read_json, read_text, write_array, write_lines
from schemas.core.errors import DataError, UserError

WRITERS: dict[str, Callable[[Path], None]] = {
    "text": lambda path: write_text(path, "new", "the page"),
    "bytes": lambda path: write_bytes(path, b"new", "the page"),
    "bytes, no flush": lambda path: write_bytes(path, b"new", "the page", fsync=False),
    "json": lambda path: write_json(path, "new", "the page"),
    "json, no flush": lambda path: write_json(path, "new", "the page", fsync=False),
}
by_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


@by_writer
def test_written_in_a_new_folder_and_over_an_old_file(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "a" / "b" / "x"
    for _ in range(2):
        write(path)
        assert path.read_text().strip('"\n') == "new"
        assert [p.name for p in path.parent.iterdir()] == ["x"]


@by_writer
@pytest.mark.parametrize("fails", ["replace", "fsync"])
def test_a_full_disk(
    tmp_path: Path, write: Callable[[Path], None], fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "x"
    path.write_text("old")
    monkeypatch.setattr("curation.files.atomic.os." + fails, full)
    if fails == "fsync" and write in (WRITERS["bytes, no flush"], WRITERS["json, no flush"]):
        write(path)
    else:
        with pytest.raises(UserError, match="x: the page cannot be written: No space left on device; nothing was put"):
            write(path)
        assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, UserError])
def test_whatever_stops_the_block_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(error), atomic_file(path) as file:
        file.write("half")
        raise error("stop")
    with pytest.raises(error), atomic_path(path) as partial:
        partial.write_text("half")
        raise error("stop")
    assert [p.name for p in tmp_path.iterdir()] == ["x"] and path.read_text() == "old"


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "file")
    (tmp_path / "folder").symlink_to(tmp_path / "far")
    (tmp_path / "nowhere").symlink_to(tmp_path / "far" / "later")
    write_text(tmp_path / "link", "new")
    write_text(tmp_path / "nowhere", "new")
    write_text(tmp_path / "folder" / "third", "new")
    assert {p.name: p.read_text() for p in (tmp_path / "far").iterdir()} == dict.fromkeys(
        ("file", "later", "third"), "new"
    )
    assert (tmp_path / "link").is_symlink() and (tmp_path / "nowhere").is_symlink()


@by_writer
def test_a_folder_or_a_pipe_in_a_files_place_and_a_file_in_a_folders(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("old")
    for name, message in (
        ("folder", "this is a folder, a file is to be written"),
        ("pipe", "this is no regular file, a file is to be written"),
        ("file/x", "the page cannot be written: a file stands where a folder is needed"),
    ):
        with pytest.raises(UserError, match=message):
            write(tmp_path / name)
    with pytest.raises(UserError, match="name another --out"):
        write_text(tmp_path / "file" / "x", "", fix="name another --out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder", "pipe"]
    assert (tmp_path / "file").read_text() == "old"


def test_text_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_text(path, "a\r\nb\u2028é\n")
    assert path.read_bytes() == "a\r\nb\u2028é\n".encode()
    write_text(path, "\ud800", errors="replace")
    assert path.read_text() == "?"
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "?" and len(list(tmp_path.iterdir())) == 1
    write_json(path, {"é": [1.5, None]})
    assert path.read_text(encoding="utf-8") == '{\n  "é": [\n    1.5,\n    null\n  ]\n}\n'


def test_a_folder(tmp_path: Path) -> None:
    place = tmp_path / "out"
    with pytest.raises(RuntimeError), atomic_folder(place) as partial:
        (partial / "a").write_text("half")
        raise RuntimeError
    assert not list(tmp_path.iterdir())
    with atomic_folder(place) as partial:
        (partial / "a").write_text("1")
    with pytest.raises(UserError, match="there is something here already"), atomic_folder(place):
        pass
    with atomic_folder(place, replace=True) as partial:
        (partial / "b").write_text("2")
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "b"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(path: Path, text: str = "new", *, command: str = "split export", force: bool = False) -> None:
    with outputs_of(command, [path], force=force):
        write_text(path, text)


REFUSED = "did not write, or that was changed since"


def test_its_own_output_and_no_other(tmp_path: Path) -> None:
    """What a person wrote, ``--force`` and inputs: by the commands, in ``scenarios/test_killed.py``."""
    place = tmp_path / "out"
    with outputs_of("split export", [place]):
        write_text(place, "twice in one command")
        write_text(place, "2")
    with pytest.raises(UserError, match=f"'scedit store dump' {REFUSED}.*--force"):
        write(place, command="store dump")
    write_text(place, "the guard ended with its command")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', "\xff"])
def test_a_spoilt_list_is_no_list(tmp_path: Path, cache: Path, text: str) -> None:
    write(tmp_path / "a")
    (cache / "outputs.json").write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=REFUSED):
        write(tmp_path / "a")
    write(tmp_path / "b")
    write(tmp_path / "b")


def test_a_folder_for_files(tmp_path: Path) -> None:
    out = tmp_path / "parts"
    for text in ("1", "2"):
        with outputs_of("split partition", (), [out]):
            write_text(out / "a", text)
    (out / "b").write_text("mine")
    with pytest.raises(UserError, match=REFUSED), outputs_of("split partition", (), [out]):
        write_text(out / "b", "new")
    (tmp_path / "m.manifest.json").write_text("mine")
    with pytest.raises(UserError, match=REFUSED), outputs_of("model covariance pack", [tmp_path / "m.safetensors"]):
        write_text(tmp_path / "m.manifest.json", "a companion belongs to the output")
    with outputs_of("split partition", (), [out]):
        write_text(tmp_path / "elsewhere", "a cache, say")
        write_text(tmp_path / "elsewhere", "again")


def test_the_outermost_command_decides(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with outputs_of("demo", (), [tmp_path], force=True), outputs_of("split freeze", [tmp_path / "a"]):
        write_text(tmp_path / "a", "new")
    with pytest.raises(UserError, match="'scedit split freeze'"):
        write(tmp_path / "a", command="split freeze")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j.jsonl"


def test_values_survive_and_the_last_line_of_a_key_holds(tmp_path: Path) -> None:
    path = tmp_path / "a" / "j.jsonl"
    with Journal(path, write=True) as journal:
        journal.append("a", 1)
        journal.append("b", {"t": "é\u2028\ud800"})
        journal.append("a", 2)
        assert journal["a"] == 2 and "b" in journal and len(journal) == 2
    with Journal(path) as reopened:
        assert dict(reopened.items()) == {"a": 2, "b": {"t": "é\u2028\ud800"}}
        assert reopened.get("c") is None


@pytest.mark.parametrize("tail", [b'{"key": "c", "val', b'{"key":"c","value":3}', b"\xff\xfe", b'{"a"'])
def test_a_torn_last_line_is_dropped(path: Path, tail: bytes) -> None:
    with Journal(path, write=True) as journal:
        journal.append("a", 1)
    full_content = path.read_bytes()
    path.write_bytes(full_content + tail)
    assert Journal(path).keys() == ["a"]
    with Journal(path, write=True) as journal:
        assert journal.torn == 1
        journal.append("b", 2)
    assert path.read_bytes() == full_content + b'{"key":"b","value":2,"digest":"64a977abcb734674"}\n'


def test_a_damaged_line_is_named_when_reading_and_moved_away_when_writing(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Journal(path, write=True) as journal:
        for key in "abc":
            journal.append(key, f"value of {key}")
        whole = journal.sum
    damaged = path.read_bytes().replace(b"value of b", b"value of d")
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="line 2: the line is damaged: its digest does not match its content"):
        Journal(path)
    assert Journal(path, skip_damaged=True).keys() == ["a", "c"] and path.read_bytes() == damaged
    with Journal(path, write=True) as journal:
        assert journal.keys() == ["a", "c"] and journal.sum != whole
        journal.append("b", "again")
    assert [r.getMessage() for r in caplog.records] == [
        f"{path}: 1 line is damaged; a run does the work again and keeps what is damaged in j.jsonl.damaged"
    ], "one warning of the same, though a reader and a writer found it"
    assert (tmp_path / "j.jsonl.damaged").read_bytes() == damaged.splitlines(keepends=True)[1]
    assert dict(Journal(path).items()) == {"a": "value of a", "c": "value of c", "b": "again"}


def test_a_journal_without_digests_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_text('{"key":"a","value":1}\n')
    for write in (False, True):
        with pytest.raises(DataError, match="no digest: an earlier version wrote this journal"):
            Journal(path, write=write)
    assert path.read_text() == '{"key":"a","value":1}\n'


def test_one_writer_at_a_time(path: Path) -> None:
    with Journal(path, write=True):
        with pytest.raises(UserError, match="another process is writing"):
            Journal(path, write=True)
        Journal(path).close()
    Journal(path, write=True).close()


def test_threads_may_share_a_journal(path: Path) -> None:
    with Journal(path, write=True, fsync=True) as journal, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: journal.append(f"k{n}", n), range(200)))
    assert len(Journal(path)) == 200


def test_a_full_disk_is_one_sentence_and_keeps_whole_lines(path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    journal = Journal(path, write=True)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(UserError, match="cannot be written"):
            for n in range(100):
                journal.append(f"k{n}", "x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    count = len(journal)
    journal.append("after", 1)
    journal.close()
    assert 5 < count < 10
    assert len(Journal(path)) == count + 1


def test_absent_and_unwritable(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such journal"):
        Journal(tmp_path / "no.jsonl")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be opened"):
        Journal(tmp_path / "file" / "j.jsonl", write=True)


def test_files_that_cannot_be_read(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such sheet; make one"):
        read_text(path, "sheet", fix="make one")
    with pytest.raises(DataError, match="the file cannot be read: Is a directory"):
        read_json(tmp_path)
    path.write_bytes("é".encode("latin-1"))
    with pytest.raises(DataError, match="the file is not"):
        read_json(path)
    path.write_text("1\n{\n")
    with pytest.raises(DataError, match="not readable as JSON: .*; export it again"):
        read_json(path, fix="export it again")
    with pytest.raises(DataError, match=r"j.jsonl, line 2: not JSON: "):
        list(json_lines(path))


@pytest.mark.parametrize(
    ("text", "why"),
    [("[" * 100_000 + "]" * 100_000, "its values lie too deep in one another"), ("9" * 5000, "a number is too long")],
    ids=["deep", "long"],
)
def test_what_python_does_not_read_is_one_sentence(path: Path, text: str, why: str) -> None:
    path.write_text(text)
    with pytest.raises(DataError, match=f"not readable as JSON: {why}$"):
        read_json(path)
    with pytest.raises(DataError, match=f"line 1: not JSON: {why}$"):
        list(json_lines(path))


def test_rows_as_lines_and_as_an_array(path: Path) -> None:
    rows = [{"text": "one\u2028two\u2029three\u0085four"}, {"text": "plain"}]
    assert write_lines(rows, path) == 2
    assert rows[0]["text"] in path.read_text(encoding="utf-8"), "the characters stand there as they are"
    assert [(n, value) for n, _, value in json_lines(path)] == [(1, rows[0]), (2, rows[1])]
    assert write_array([], path) == 0 and read_json(path) == []
    assert write_array([{"a": "é"}, {"b": 2}], path) == 2
    assert path.read_text(encoding="utf-8") == '[\n{"a": "é"},\n{"b": 2}\n]\n'
