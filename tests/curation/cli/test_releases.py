"""The commands about splits and their versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.splits.errata import read_errata
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.commands import command
from tests.support.curation.rule_records import CHAINS, EDIT, P0


def run(*args: object) -> str:
    return (
        CliRunner()
        .invoke(command("split errata"), [str(a) for a in args], catch_exceptions=False, standalone_mode=False)
        .output
    )


def test_commands(tmp_path: Path) -> None:
    path, file = tmp_path / "s.duckdb", tmp_path / "e.jsonl"
    with Store.open(path, create=True) as store:
        store.put([EDIT, *CHAINS[0]])
    assert "added: drop f/peru/q0/s/p" in run("add", P0.key, "cut in a word", "--file", file, "--store", path)
    assert "there already" in run("add", P0.key, "cut in a word", "--file", file, "--store", path)
    assert read_errata(file).entries[0].id == P0.id
    assert run("add", "case/f/peru", "doubtful", "--file", file, "--action", "hold", "--date", "2026-01-01")
    assert "cut in a word applies" in run("list", "--file", file, "--store", path)
    with Store.open(path, write=True) as store:
        store.put([P0.model_copy(update={"step": 1})])
    assert "corrected since" in run("list", "--file", file, "--store", path)
    with pytest.raises(UserError, match="no item"):
        run("add", "f/nobody", "x", "--file", file, "--store", path)
    with pytest.raises(UserError, match="nothing to list"):
        run("list")
