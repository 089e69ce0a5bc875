"""Stores and splits that version 0.1.0 wrote: they open, and hold the same records under the same ids and digests.

``stored_formats_0_1_0.tar.gz`` was written by commit a568de1 and is never written anew to make a test pass.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import scedit.commands
from annotation_ui.ratings.database import RatingsDB
from curation.export.formats import EXPORTERS, export
from curation.files.json_files import write_array
from curation.splits.split_file import load_split, make_split, write_split
from schemas.core.errors import StoreError
from tests.support.arithmetic import make_cases
from tests.support.small import small_split

LATER = ("datasets", "parquet", "elken", "mulfe", "mulfe-dev")
"""Formats whose bytes hold the versions of other packages, or that hold no facts."""
STATED = ("counterfact", "easyedit", "scedit-cf", "scedit-t")
"""Published shapes in which our own records say their source since; but for that field the bytes are those of then."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(Path(__file__).with_name("stored_formats_0_1_0.tar.gz")) as archive:
        archive.extractall(tmp_path / "files", filter="data")
    monkeypatch.chdir(tmp_path)
    return Path("files")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_split_is_read_written_and_frozen_again(files: Path) -> None:
    path = files / "constructed/split.jsonl"
    content = path.read_bytes()
    write_split(load_split(path), Path("again.jsonl"))
    assert Path("again.jsonl").read_bytes() == content
    path.unlink()
    store = str(files / "constructed/store.duckdb")
    frozen = CliRunner().invoke(scedit.commands.cli, ["split", "freeze", "small", "--store", store, "--out", str(path)])
    assert frozen.exit_code == 0, frozen.output
    assert path.read_bytes() == content


def test_exports_and_digests(files: Path) -> None:
    """SHA-256 of the shipped split in every file format that can hold it, and the digest of a made split."""
    found = {"mini": small_split().digest, "made": make_split("made", make_cases(3, 1).cases).digest}
    for name in EXPORTERS.names():
        if name in LATER:
            continue
        path = Path(f"mini.{name}")
        try:
            export(small_split(), path, name)
        except Exception as error:  # noqa: BLE001 - a format that cannot hold the split says so, then and now
            found[name] = type(error).__name__
            continue
        if name in STATED:
            rows = read(path)
            assert all(row.pop("source")["name"] for row in rows)
            write_array(rows, path)
        parts = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        found[name] = hashlib.sha256(b"".join(p.read_bytes() for p in parts)).hexdigest()
    assert found == read(files / "exported.json")


def test_a_ratings_file_of_the_first_version_is_refused_in_one_sentence(files: Path) -> None:
    path = files / "rated/ratings.sqlite"
    before = path.read_bytes()
    with pytest.raises(StoreError, match="has version 1, this program reads version .* open it with the version"):
        RatingsDB(path)
    assert path.read_bytes() == before
