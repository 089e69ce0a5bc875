"""The cache: identity, damage, half-written files."""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path

import pytest
import torch

from curation.files import artifact_cache
from curation.files.artifact_cache import Cache, remembered_sha256, sha256
from schemas.core.errors import UserError

WHO = {"model": "m", "layer": 1}


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


@pytest.mark.parametrize("damage", ["data changed", "data cut", "data gone", "manifest cut", "manifest of another"])
def test_damaged_values_count_as_absent(cache: Cache, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    cache.save_json("words", WHO, ["a", "b"])
    manifest = next(cache.folder.glob("*.manifest.json"))
    data = next(p for p in cache.folder.iterdir() if p != manifest)
    if damage == "data changed":
        data.write_bytes(data.read_bytes().replace(b"a", b"c"))
    elif damage == "data cut":
        data.write_bytes(data.read_bytes()[:-1])
    elif damage == "data gone":
        data.unlink()
    elif damage == "manifest cut":
        manifest.write_bytes(manifest.read_bytes()[:10])
    else:
        manifest.write_text(manifest.read_text().replace('"m"', '"other"'))
    with caplog.at_level(logging.WARNING):
        assert cache.load_json("words", WHO) is None
    assert bool(caplog.records) is damage.startswith("data c")
    cache.save_json("words", WHO, ["a", "b"])
    assert cache.load_json("words", WHO) == ["a", "b"]
    assert not [p for p in cache.folder.iterdir() if p.suffix not in (".json", ".safetensors")]


def test_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Cache(tmp_path / "file").save_json("words", WHO, [])


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


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "absent", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(UserError, match=f"the file cannot be read: {reason}"):
            remembered_sha256(path)
