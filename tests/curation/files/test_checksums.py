"""Checksums: as hashlib says, read again when the file is another one, and never wrong for a damaged memory."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from curation.files import artifact_cache
from curation.files.artifact_cache import remembered_sha256, sha256
from schemas.core.errors import UserError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def expected(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_known_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"weights")
    assert sha256(path) == remembered_sha256(path) == expected(b"weights")
    monkeypatch.setattr(artifact_cache, "sha256", lambda path: pytest.fail("read again"))
    assert remembered_sha256(path) == expected(b"weights")


def test_another_file_of_the_same_size_and_time_is_read(tmp_path: Path) -> None:
    """As archives unpack them whose files all have one time; so is one of another size, time or place."""
    path = tmp_path / "x"
    for data, time in ((b"AAAA", 10**18), (b"BBBB", 10**18), (b"CCCC", 10**18 + 1), (b"DDDDD", 10**18)):
        path.write_bytes(data)
        os.utime(path, ns=(time, time))
        assert remembered_sha256(path) == expected(data)


@pytest.mark.parametrize("memory", ["{", "[]", "null", '{"KEY": 5}', None])
def test_a_memory_that_cannot_be_used_is_done_without(tmp_path: Path, cache: Path, memory: str | None) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"weights")
    if memory is None:
        cache.write_text("a file where the folder should be")
        assert remembered_sha256(path) == expected(b"weights")
        return
    remembered_sha256(path)
    (key,) = json.loads((cache / "digests.json").read_text())
    (cache / "digests.json").write_text(memory.replace('"KEY"', json.dumps(key)))
    assert remembered_sha256(path) == expected(b"weights")
    assert json.loads((cache / "digests.json").read_text()) == {key: expected(b"weights")}


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "absent", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(UserError, match=f"the file cannot be read: {reason}"):
            remembered_sha256(path)
