"""Nothing is overwritten: not the store in use, an input, another command's output, or what a person wrote."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.loaders.importer import import_split
from scedit.commands import cli
from schemas.core.errors import UserError
from tests.support import ROOT
from tests.support.facts import peru_fact
from tests.support.small import small_split

OUTPUTS = {
    "store backup": ["store", "backup", "OUT", "--store", "STORE"],
    "store dump": ["store", "dump", "OUT", "--store", "STORE"],
    "split export": ["split", "export", "mini", "OUT", "--store", "STORE"],
    "split export easyedit": ["split", "export", "mini", "OUT", "--format", "easyedit", "--store", "STORE"],
    "split freeze": ["split", "freeze", "mini", "--version", "2.0.0", "--out", "OUT", "--store", "STORE"],
    "data convert": ["data", "convert", "FACTS", "OUT"],
    "store funnel": ["store", "funnel", "--page", "OUT", "--store", "STORE"],
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that holds mini, and a file of facts."""
    folder = tmp_path_factory.mktemp("filled")
    import_split(small_split(), folder / "s.duckdb", origin="tests")
    (folder / "facts.jsonl").write_text(peru_fact().model_dump_json() + "\n")
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to spoil."""
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    return Path(shutil.copytree(filled, tmp_path / "folder"))


def call(line: list[str], folder: Path, out: Path, *more: str) -> BaseException | None:
    record = {"OUT": str(out), "STORE": str(folder / "s.duckdb"), "FACTS": str(folder / "facts.jsonl")}
    return CliRunner().invoke(cli, [record.get(word, word) for word in line] + list(more)).exception


@pytest.mark.parametrize("command", [*OUTPUTS, "split publish"])
def test_a_hyphen_is_no_output(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    line = OUTPUTS.get(command, ["split", "publish", "mini", "OUT", "--store", "STORE"])
    assert "'-' is no output" in str(call(line, folder, Path("-"))) and not Path("-").exists()


@pytest.mark.parametrize("command", OUTPUTS)
def test_an_output_never_replaces_the_store_or_an_input(command: str, folder: Path) -> None:
    line = OUTPUTS[command]
    path = folder / ("facts.jsonl" if "FACTS" in line else "s.duckdb")
    os.link(path, folder / "hard")
    (folder / "soft").symlink_to(path)
    before = path.read_bytes()
    for place in (path, folder / "hard", folder / "soft"):
        for force in ([], ["--force"]):
            error = call(line, folder, place, *force)
            assert isinstance(error, UserError) and "stays as it is" in str(error), (place, error)
    assert path.read_bytes() == before and (folder / "hard").samefile(path) and (folder / "soft").is_symlink()
    assert sorted(p.name for p in folder.iterdir()) == ["facts.jsonl", "hard", "s.duckdb", "soft"]


@pytest.mark.parametrize("command", [name for name in OUTPUTS if name != "store funnel"])
def test_an_output_replaces_what_the_same_command_wrote_and_nothing_else(command: str, folder: Path) -> None:
    line, place = OUTPUTS[command], folder / "out" / "x.out"
    for _ in range(2):
        assert call(line, folder, place) is None
    for text in ("thesis", ""):
        place.write_text(text)
        error = call(line, folder, place)
        assert isinstance(error, UserError) and "changed since" in str(error) and place.read_text() == text
    assert call(line, folder, place, "--force") is None and len(place.read_bytes()) > 50
    error = call(line, folder, folder / "out")
    assert isinstance(error, UserError) and ("this is a folder" in str(error))
    assert [p.name for p in place.parent.iterdir()] == ["x.out"]


# All writers share one piece: temporary file, flush, rename.

OWN_WAY = {
    "curation/files/atomic.py": "it is the piece",
    "curation/files/local_models.py": "writes into the piece's temporary file",
    "evaluation/engines/peak_memory.py": "a switch of the kernel, no file",
    "evaluation/models/loading.py": "a converted model: a folder of the cache, exchanged as a whole",
}


DIRECT = re.compile(r"""\.write_(text|bytes)\(|\bos\.replace\(|open\([^()\n]*["'][bt+]*[wx][bt+]*["']""")
"""What opens a file for writing, or replaces one, without the piece."""


def test_all_writers_share_one_piece() -> None:
    packages = ("schemas", "curation", "construction", "evaluation", "annotation_ui")
    paths = [p for name in packages for p in (ROOT / name).rglob("*.py")]
    results = {p.relative_to(ROOT).as_posix() for p in paths if DIRECT.search(p.read_text(encoding="utf-8"))}
    assert results == set(OWN_WAY)
