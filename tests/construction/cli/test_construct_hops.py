"""From a TOML of hops to a split file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.shipped import SHIPPED
from curation.splits.split_file import load_split
from schemas.core.errors import DataError, UserError

SOURCE = (SHIPPED / "hops/hops.jsonl").with_name("source.toml")


def invoke(*args: object) -> str:
    done = CliRunner().invoke(
        scedit.commands.cli, [str(a) for a in args], standalone_mode=False, catch_exceptions=False
    )
    return done.output


def test_the_shipped_source_becomes_a_split_under_a_name_of_ones_own(tmp_path: Path) -> None:
    out = tmp_path / "mine.jsonl"
    told = invoke("data", "construct-hops", "mine", SOURCE, "--out", out)
    assert told.startswith(f"40 edits with 200 probes in {out}.\nNext: split = ")
    split = load_split(out)
    assert split.name == "mine" and split.all_cases[0].key.startswith("case/mine/")
    again = json.loads(invoke("data", "construct-hops", "mine", SOURCE, "--out", tmp_path / "b.jsonl", "--json"))
    assert (again["digest"], again["cases"], again["probes"]) == (split.digest, 40, 200)


def test_bad_input_writes_nothing(tmp_path: Path) -> None:
    out, bad = tmp_path / "mine.jsonl", tmp_path / "bad.toml"
    bad.write_text(SOURCE.read_text(encoding="utf-8").replace('new = "Japan"', 'new = "Narnia"', 1), encoding="utf-8")
    with pytest.raises(DataError, match="a hop without its fact: 'currency' says nothing of 'Narnia'"):
        invoke("data", "construct-hops", "mine", bad, "--out", out)
    with pytest.raises(UserError, match="cannot be the name of a split"):
        invoke("data", "construct-hops", "../mine", SOURCE, "--out", out)
    assert not out.exists()
    out.write_text("kept", encoding="utf-8")
    with pytest.raises(UserError):
        invoke("data", "construct-hops", "mine", SOURCE, "--out", out)
    assert out.read_text(encoding="utf-8") == "kept"
