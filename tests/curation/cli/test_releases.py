"""The commands about splits and their versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.shipped import mini_split
from curation.splits.split_file import load_split, make_split, write_split
from curation.splits.versions import Erratum, read_errata
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.commands import command
from tests.support.curation.rule_records import CHAINS, EDIT, P0, said


def run(name: str, *args: object) -> str:
    call = [str(a) for a in args]
    return CliRunner().invoke(command(name), call, catch_exceptions=False, standalone_mode=False).output


def test_commands(tmp_path: Path) -> None:
    path, file = tmp_path / "s.duckdb", tmp_path / "e.jsonl"
    with Store.open(path, create=True) as store:
        store.put([EDIT, *CHAINS[0]])
    assert "added: drop f/peru/q0/s/p" in run(
        "split errata", "add", P0.key, "cut in a word", "--file", file, "--store", path
    )
    assert "there already" in run("split errata", "add", P0.key, "cut in a word", "--file", file, "--store", path)
    assert read_errata(file).entries[0].id == P0.id
    assert run(
        "split errata", "add", "case/f/peru", "doubtful", "--file", file, "--action", "hold", "--date", "2026-01-01"
    )
    assert "cut in a word applies" in run("split errata", "list", "--file", file, "--store", path)
    with Store.open(path, write=True) as store:
        store.put([P0.model_copy(update={"step": 1})])
    assert "corrected since" in run("split errata", "list", "--file", file, "--store", path)
    with pytest.raises(UserError, match="no item"):
        run("split errata", "add", "f/nobody", "x", "--file", file, "--store", path)
    with pytest.raises(UserError, match="nothing to list"):
        run("split errata", "list")


def test_withdrawing_an_erratum_of_a_candidate(two_edits: Path, tmp_path: Path) -> None:
    file, split = tmp_path / "e.jsonl", ("--split", "mine", "--store", two_edits)
    with Store.open(two_edits, write=True) as store:
        wrong = Erratum(item=P0.key, what="cut in a word", date="2026-11-21")
        freeze(store, "mine", SplitRule(), version="1.0.0-candidate", errata=(wrong,))
    with pytest.raises(UserError, match="stands"):
        run("split errata", "withdraw", P0.key, "it is whole", "--file", file)
    with pytest.raises(UserError, match="give --store"):
        run("split errata", "withdraw", P0.key, "it is whole", "--file", file, "--split", "mine")
    assert not file.exists()
    text = run("split errata", "withdraw", P0.key, "it is whole", "--file", file, *split, "--date", "2026-12-01")
    assert "withdrawn: 2026-11-21 drop f/peru/q0/s/p: cut in a word" in text
    lines = run("split errata", "list", "--file", file, *split).splitlines()
    assert lines == [
        "2026-11-21 drop     f/peru/q0/s/p: cut in a word withdrawn",
        "2026-12-01 withdraw f/peru/q0/s/p: it is whole",
    ]


def test_release_and_diff(two_edits: Path, tmp_path: Path) -> None:
    with Store.open(two_edits, write=True) as store:
        freeze(store, "mine", SplitRule(), version="1.0.0-candidate")
    out = tmp_path / "mine.jsonl"
    text = run("split release", "mine", "-s", two_edits, "--without-sample", "a rehearsal", "--out", out)
    assert "## mine 1.0.0" in text and "First release" in text
    assert load_split(out).header["release"]["level"] == "first"
    with Store.open(two_edits, write=True) as store:
        store.put([said(P0.id, "leak@1", "drop")])
        freeze(store, "mine", SplitRule(), version="2.0.0-candidate")
    text = run("split diff", "mine@1.0.0", "mine@2.0.0-candidate", "-s", two_edits)
    assert "changed  case/f/peru: script prompt dropped" in text and "version 2.0.0 or later after 1.0.0" in text
    rows = [json.loads(x) for x in run("split diff", out, out, "--jsonl").splitlines()]
    assert [r["level"] for r in rows] == ["none"]
    write_split(make_split("mini", mini_split().cases[1:], version="2.0.0"), tmp_path / "new.jsonl")
    assert "### Dropped (1)" in run("split diff", "mini", tmp_path / "new.jsonl", "--changelog")
