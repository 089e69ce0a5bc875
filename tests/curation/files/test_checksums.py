"""Checksums: as hashlib says, read again when the file is another one, and never wrong for a damaged memory."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from curation.files import checksums
from curation.files.checksums import remembered_sha256, sha256
from schemas.core.errors import UserError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    checksums._remembered_digest.cache_clear()
    return tmp_path / "cache"


def expected(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("data", [b"", b"\x00\xff\r\n", b"0123456789" * 300_000], ids=["empty", "odd", "3 MB"])
def test_both_ways_are_the_digest_of_the_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    assert sha256(path) == remembered_sha256(path) == remembered_sha256(path) == expected(data)


def test_a_known_file_is_not_read_again_not_even_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"weights")
    remembered_sha256(path)
    monkeypatch.setattr(checksums, "sha256", lambda path: pytest.fail("read again"))
    assert remembered_sha256(path) == expected(b"weights")
    checksums._remembered_digest.cache_clear()  # as in another process
    assert remembered_sha256(path) == expected(b"weights")


def test_another_file_of_the_same_size_and_time_is_read(tmp_path: Path) -> None:
    """As archives unpack them whose files all have one time."""
    path = tmp_path / "x"
    for data in (b"AAAA", b"BBBB"):
        path.write_bytes(data)
        os.utime(path, ns=(10**18, 10**18))
        assert remembered_sha256(path) == expected(data)


def test_another_size_or_time_or_place_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"AAAA")
    first = path.stat().st_mtime_ns
    remembered_sha256(path)
    path.write_bytes(b"BBBB")
    os.utime(path, ns=(first, first + 1))
    assert remembered_sha256(path) == expected(b"BBBB")
    path.write_bytes(b"CCCCC")
    os.utime(path, ns=(first, first))
    assert remembered_sha256(path) == expected(b"CCCCC")
    other = tmp_path / "y"
    other.write_bytes(b"DDDDD")
    os.utime(other, ns=(first, first))
    assert remembered_sha256(other) == expected(b"DDDDD")


@pytest.mark.parametrize("memory", ["{", "[]", "null", '{"KEY": 5}'])
def test_a_damaged_memory_is_no_memory(tmp_path: Path, cache: Path, memory: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"weights")
    remembered_sha256(path)
    (key,) = json.loads((cache / "digests.json").read_text())
    (cache / "digests.json").write_text(memory.replace('"KEY"', json.dumps(key)))
    checksums._remembered_digest.cache_clear()
    assert remembered_sha256(path) == expected(b"weights")
    assert json.loads((cache / "digests.json").read_text()) == {key: expected(b"weights")}


def test_a_memory_that_cannot_be_written_is_done_without(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    path = tmp_path / "x"
    path.write_bytes(b"weights")
    assert remembered_sha256(path) == expected(b"weights")


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="absent: the file cannot be read: No such file"):
        remembered_sha256(tmp_path / "absent")
    with pytest.raises(UserError, match="Is a directory"):
        remembered_sha256(tmp_path)
    path = tmp_path / "x"
    path.write_bytes(b"weights")
    remembered_sha256(path)
    path.unlink()
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(UserError, match="No such file"):
        remembered_sha256(path)
