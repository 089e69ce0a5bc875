"""The cache: identity, damage, half-written files."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from curation.files import artifact_cache
from curation.files.artifact_cache import Cache, remembered_sha256, sha256
from schemas.core.errors import UserError

WHO = {"model": "m", "layer": 1}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_tensors_and_manifest(cache: Cache) -> None:
    assert cache.load_tensors("moments", WHO) is None
    value = {"a": torch.randn(3, 4).T, "n": torch.tensor(7)}
    cache.save_tensors("moments", WHO, value, facts={"tokens": 7})
    tensors = cache.load_tensors("moments", {"layer": 1, "model": "m"})
    assert tensors is not None and torch.equal(tensors["a"], value["a"]) and int(tensors["n"]) == 7
    manifest = cache.manifest("moments", WHO)
    assert manifest is not None and manifest["facts"] == {"tokens": 7} and manifest["identity"] == WHO
    for other in ({**WHO, "layer": 2}, {"model": "m"}, {**WHO, "cap": 3}):
        assert cache.load_tensors("moments", other) is None
    assert cache.load_tensors("templates", WHO) is None


@pytest.mark.parametrize(
    ("file", "damage", "said"),
    [
        ("data", lambda data: data.replace(b"a", b"c"), True),
        ("data", lambda data: data[:-1], True),
        ("data", None, False),
        ("manifest", lambda data: data[:10], False),
        ("manifest", lambda data: data.replace(b'"m"', b'"other"'), False),
    ],
)
def test_damaged_values_count_as_absent(
    cache: Cache, file: str, damage: Callable[[bytes], bytes] | None, said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cache.save_json("words", WHO, ["a", "b"])
    (path,) = [p for p in cache.folder.iterdir() if p.name.endswith(".manifest.json") == (file == "manifest")]
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert cache.load_json("words", WHO) is None
    assert bool(caplog.records) is said
    cache.save_json("words", WHO, ["a", "b"])
    assert cache.load_json("words", WHO) == ["a", "b"]
    assert not [p for p in cache.folder.iterdir() if p.suffix not in (".json", ".safetensors")]


def test_a_known_file_is_not_read_again_and_another_of_the_same_size_and_time_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As archives unpack them whose files all have one time; so is one of another size, time or place."""
    path = tmp_path / "x"
    for data, time in ((b"AAAA", 10**18), (b"BBBB", 10**18), (b"CCCC", 10**18 + 1), (b"DDDDD", 10**18)):
        path.write_bytes(data)
        os.utime(path, ns=(time, time))
        assert remembered_sha256(path) == sha256(path) == hashlib.sha256(data).hexdigest()
    monkeypatch.setattr(artifact_cache, "sha256", lambda path: pytest.fail("read again"))
    assert remembered_sha256(path) == hashlib.sha256(b"DDDDD").hexdigest()


def test_what_cannot_be_read_or_written_is_one_sentence(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "absent", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(UserError, match=f"the file cannot be read: {reason}"):
            remembered_sha256(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Cache(tmp_path / "file").save_json("words", WHO, [])
