"""The command that runs checks over a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.checks.store_checks import STORE_CHECKS
from curation.store.store import Store
from tests.support.curation.measured_lengths import Length
from tests.support.facts import peru_fact


def invoke(*args: object) -> str:
    result = CliRunner().invoke(
        scedit.commands.cli, [str(a) for a in args], standalone_mode=False, catch_exceptions=False
    )
    return result.output


def test_command_lists_counts_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        store.put([peru_fact(f"f/{n}") for n in range(3)])
    monkeypatch.setattr(STORE_CHECKS, "names", lambda: ["length"])
    monkeypatch.setattr(STORE_CHECKS, "get", lambda name: Length)
    assert "length@1  on each fact: characters of the prompt" in invoke("store", "check", "--list")
    assert json.loads(invoke("store", "check", "--list", "--jsonl"))["settings"] == {"fail_at": "", "silent_on": ""}
    assert "3  facts due for length@1" in invoke("store", "check", "--store", path, "--dry-run")
    data = json.loads(invoke("store", "check", "length", "--store", path, "--dry-run", "--limit", 2, "--jsonl"))
    assert data == {"check": "length@1", "model": None, "on": "fact", "due": 2, "cost": {}}
    report = json.loads(invoke("store", "check", "length", "--store", path, "--set", "length.silent_on=f/1", "--jsonl"))
    assert (report["due"], report["labels"], report["left"]) == (3, {"measured": 2}, 1)
    assert "length@1: 1 fact, 1 measured" in invoke("store", "check", "length", "-s", path)
    assert "nothing was due" in invoke("store", "check", "length", "-s", path)


def test_command_needs_a_store() -> None:
    import click

    with pytest.raises(click.UsageError, match="--store"):
        invoke("store", "check")
