from __future__ import annotations

import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from curation.files.journal import Journal
from curation.files.json_files import json_lines, read_json, read_text, write_array, write_lines
from schemas.core.errors import DataError, UserError


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
        f"{path}: 1 line is damaged; the work is done again (kept in j.jsonl.damaged)"
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
