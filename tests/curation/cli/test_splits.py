"""The commands of ``scedit split``: freeze, add, export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit
from curation.splits.split_file import load_split


def invoke(*args: object) -> str:
    result = CliRunner().invoke(scedit.cli, [str(a) for a in args], standalone_mode=False, catch_exceptions=False)
    return result.output


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.duckdb"
    assert "5 facts read as jsonl, 5 of them new" in invoke("data", "import", "shipped", "--store", path, "--limit", 5)
    return path


def test_split_add_freeze_export(tmp_path: Path, store: Path) -> None:
    header = json.loads(invoke("split", "add", "mini", "-s", store, "--json"))
    assert header["split"] == "mini"
    out = tmp_path / "out.jsonl"
    assert header["digest"][:12] in invoke("split", "export", "mini", out, "-s", store)
    assert load_split(out).digest == header["digest"]
    frozen = json.loads(invoke("split", "freeze", "own", "-s", store, "--out", tmp_path / "own.jsonl", "--json"))
    assert frozen["cases"] >= header["cases"], "all of mini passes the default rule"
    assert load_split(tmp_path / "own.jsonl").digest == frozen["digest"]
    assert "own@1.0.0" in invoke("store", "list", "split", "-s", store)
