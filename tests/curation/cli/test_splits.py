"""The commands of ``scedit split``: freeze, add, export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.shipped import mini_split, shipped_split
from curation.splits.split_file import load_split, make_split, write_split
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case


def invoke(*args: object) -> str:
    result = CliRunner().invoke(
        scedit.commands.cli, [str(a) for a in args], standalone_mode=False, catch_exceptions=False
    )
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


def test_the_open_split_by_name(tmp_path: Path, store: Path) -> None:
    out = tmp_path / "dev.json"
    assert "of open-dev@0.9.2" in invoke("split", "export", "open:dev", out, "--format", "scedit-cf")
    assert len(json.loads(out.read_text(encoding="utf-8"))) == len(
        [case for case in shipped_split("open:dev").cases if case.fact.change == "counterfactual"]
    )
    header = json.loads(invoke("split", "add", "open:dev", "-s", store, "--json"))
    assert (header["split"], header["digest"]) == ("open-dev", shipped_split("open:dev").digest)
    path = tmp_path / "again.jsonl"
    invoke("split", "export", "open-dev", path, "-s", store)
    assert load_split(path).digest == header["digest"] and load_split(path).extras == shipped_split("open:dev").extras
    with pytest.raises(UserError, match="no split 'mine' comes with the program"):
        invoke("split", "export", "mine", out)


def test_a_split_whose_keys_are_taken_is_listed_and_can_stand_beside(tmp_path: Path, store: Path) -> None:
    invoke("split", "add", "mini", "-s", store)
    assert "0 of them new; source 'mini@1.0.0#" in invoke("split", "add", "mini", "-s", store)
    cases = mini_split().cases[:2]
    odd = [c.model_copy(update={"fact": c.fact.model_copy(update={"prompt": "It is said of {} that"})}) for c in cases]
    write_split(make_split("odd", odd), tmp_path / "odd.jsonl")
    outcome = CliRunner().invoke(scedit.commands.cli, ["split", "add", str(tmp_path / "odd.jsonl"), "-s", str(store)])
    assert outcome.exit_code == 1
    assert all(f"conflict: fact {c.fact.key}: held by mini@1.0.0#" in outcome.output for c in cases)
    result = invoke("split", "add", tmp_path / "odd.jsonl", "--as", "b", "-s", store)
    assert "split b@1.0.0: 2 cases" in result and "source 'b'" in result
    sources = json.loads(invoke("store", "stats", "-s", store, "--json"))["sources"]
    assert {s["source"].partition("#")[0] for s in sources} == {"shipped", "mini@1.0.0", "b"}
    data = json.loads(invoke("store", "show", f"b/{cases[0].fact.key}", "-s", store, "--json"))
    assert data["sources"] == ["b"]


def test_export_names_once_what_another_reader_looks_for_in_vain(tmp_path: Path, store: Path) -> None:
    invoke("split", "add", "mini", "-s", store)
    result = invoke(
        "split", "export", "mini", tmp_path / "e.json", "-s", store, "--format", "easyedit", "--knowedit-lists"
    )
    assert json.loads((tmp_path / "e.json").read_text())[0]["portability"]["Reasoning"]
    assert result.count("locality/Forgetfulness (0 of 58 cases)") == 1
    assert "Note" not in invoke("split", "export", "mini", tmp_path / "m.jsonl", "-s", store)


def test_freeze_names_contradictory_requests(tmp_path: Path, store: Path) -> None:
    first, second = make_case("Peru"), make_case("Kenya")
    prompts = tuple(p.model_copy(update={"targets": ("Lima", "Rome")}) for p in second.prompts)
    fact = first.fact.model_copy(
        update={"key": second.fact.key, "new": first.fact.new_object.model_copy(update={"text": "Rome"})}
    )
    write_split(
        make_split("two", [first, second.model_copy(update={"fact": fact, "prompts": prompts})]), tmp_path / "two.jsonl"
    )
    invoke("split", "add", tmp_path / "two.jsonl", "-s", store)
    outcome = CliRunner().invoke(scedit.commands.cli, ["split", "freeze", "own", "-s", str(store), "--json"])
    assert outcome.exit_code == 0 and json.loads(outcome.stdout)["cases"] == 2
    assert "Warning: 'case/fact/kenya' and 'case/fact/peru' contradict each other: Peru, " in outcome.stderr
    assert "-> Rome and Oslo; in a batch or sequence only one of them can hold" in outcome.stderr


def test_what_a_format_cannot_hold_is_counted(tmp_path: Path) -> None:
    def export(name: str) -> str:
        words = ["split", "export", "mini", str(tmp_path / name), "--format", name]
        return CliRunner().invoke(scedit.commands.cli, words).stderr

    assert "Note: 16 cases left out, which counterfact cannot hold: 16 temporal" in export("counterfact")
    assert "left out" not in export("easyedit")
