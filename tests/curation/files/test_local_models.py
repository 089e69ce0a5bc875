"""Which file a model's name means, and what it is called in records."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from curation.files import local_models
from curation.files.checksums import sha256
from curation.files.local_models import (
    LOCAL_BYTES,
    LOCAL_FILE,
    LOCAL_LABEL,
    HubFile,
    gguf_of,
    hub_file,
    label_of,
    local_gguf,
    model_file,
    names_a_file,
)
from schemas.core.errors import ModelError, UserError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def gguf(path: Path, content: bytes = b"weights") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF" + content)
    return path


@pytest.mark.parametrize(
    ("name", "file"),
    [("embedded", True), ("local", True), ("gguf:x", True), ("hf:a/b/c.gguf", True)]
    + [(name, False) for name in ("gpt-4.1", "localhost", "Local", "x.gguf", "hf", "org/model", "")],
)
def test_which_names_mean_a_file(name: str, file: bool) -> None:
    assert names_a_file(name) is file


def test_two_files_of_one_name_have_two_labels_and_a_moved_file_keeps_its_own(tmp_path: Path) -> None:
    one, other = gguf(tmp_path / "a" / "m.gguf"), gguf(tmp_path / "b" / "m.gguf", b"others")
    label = label_of(f"gguf:{one}")
    assert label.startswith("m.gguf (GGUF, ") and sha256(one)[:12] in label
    assert label_of(f"gguf:{other}") != label
    other.unlink()
    one.rename(other)
    assert label_of(f"gguf:{other}") == label


def test_a_file_that_was_exchanged_in_place_gets_another_label(tmp_path: Path) -> None:
    path = gguf(tmp_path / "m.gguf", b"AAAA")
    before = label_of(f"gguf:{path}")
    gguf(path, b"BBBB")
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert label_of(f"gguf:{path}") != before


@pytest.mark.parametrize("content", [b"", b"GGU", b"PK\x03\x04 a zip"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(UserError, match="no GGUF file") as error:
        gguf_of(f"gguf:{path}")
    assert error.value.where == str(path)


@pytest.mark.parametrize("kind", ["absent", "folder"])
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "m.gguf"
    if kind == "folder":
        path.mkdir()
    with pytest.raises(ModelError, match="No such file" if kind == "absent" else "Is a directory"):
        gguf_of(f"gguf:{path}")


def test_a_model_is_a_file_or_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = gguf(tmp_path / "M.GGUF")
    assert model_file(str(path)) == model_file(f"gguf:{path}") == path
    assert model_file("gpt2") is None and model_file(str(tmp_path)) is None
    (tmp_path / "local").mkdir()
    (tmp_path / "folder.gguf").mkdir()
    assert model_file("local") is None and model_file("folder.gguf") is None, "folders come first"
    (tmp_path / "embedded").mkdir()
    monkeypatch.setattr(local_models, "embedded_gguf", lambda: path)
    assert model_file("embedded") == path, "but one of this name is the model of the package"
    with pytest.raises(ModelError, match="No such file"):
        model_file("absent.gguf")


def test_local_says_how_to_get_it(cache: Path) -> None:
    with pytest.raises(ModelError, match="scedit model fetch local"):
        local_gguf()


def test_local_refuses_a_file_of_another_size(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = gguf(cache / "models" / LOCAL_FILE)
    with pytest.raises(ModelError, match=f"11 bytes, not {LOCAL_BYTES:,}"):
        local_gguf()
    monkeypatch.setattr(local_models, "LOCAL_BYTES", 11)
    assert local_gguf() == path == gguf_of("local")


def test_the_pinned_models_have_their_labels_where_their_files_are_absent(cache: Path) -> None:
    assert label_of("local") == LOCAL_LABEL
    assert label_of("embedded").startswith("SmolLM2")


@pytest.mark.parametrize(
    "name", ["hf:", "hf:owner", "hf:owner/repo", "hf:owner/repo/", "hf://f.gguf", "hf:o//f.gguf", "hf:o/r/../../f.gguf"]
)
def test_a_hub_name_without_its_three_parts_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="names no file of a hub repository"):
        hub_file(name)


def test_a_hub_file_of_another_format_is_refused() -> None:
    with pytest.raises(UserError, match="no GGUF file"):
        hub_file("hf:owner/repo/model.safetensors")
    assert hub_file("hf:o/r/deep/er/M.GGUF") == HubFile("o/r", "deep/er/M.GGUF")


def test_a_hub_file_is_read_from_the_hubs_own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    path = gguf(tmp_path / "blob")
    calls = []

    def look(repository: str, file: str) -> str:
        calls.append((repository, file))
        return str(path)

    monkeypatch.setattr(hub, "try_to_load_from_cache", look)
    assert gguf_of("hf:o/r/q4/m.gguf") == path
    assert label_of("hf:o/r/q4/m.gguf") == f"o/r/q4/m.gguf (GGUF, {sha256(path)[:12]})"
    assert set(calls) == {("o/r", "q4/m.gguf")}


def test_a_hub_file_that_is_not_here_is_never_downloaded_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda *_: None)
    monkeypatch.setattr(hub, "hf_hub_download", lambda *_: pytest.fail("downloaded"))
    with pytest.raises(ModelError, match="scedit model fetch hf:o/r/m.gguf"):
        gguf_of("hf:o/r/m.gguf")


def test_a_name_that_means_no_file_is_refused() -> None:
    with pytest.raises(UserError, match="names no model file; allowed: embedded, local"):
        gguf_of("gpt-4.1")


@pytest.mark.parametrize("name", ["gguf:", "gguf: "])
def test_a_name_without_a_path_is_called_that_and_not_the_folder_one_is_in(name: str) -> None:
    with pytest.raises(UserError, match="'gguf:' names no file; allowed: gguf:PATH"):
        gguf_of(name)
