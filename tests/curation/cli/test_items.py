from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit
from curation.splits.split_file import load_split
from schemas.core.errors import UserError


def invoke(*args: object) -> str:
    result = CliRunner().invoke(scedit.cli, [str(a) for a in args], standalone_mode=False, catch_exceptions=False)
    return result.output


def command(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "scedit", *map(str, args)], capture_output=True, text=True)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.duckdb"
    assert "5 facts read as jsonl, 5 of them new" in invoke("import", "shipped", "--store", path, "--limit", 5)
    return path


def test_import_show_list_stats(store: Path) -> None:
    rows = [json.loads(x) for x in invoke("list", "fact", "-s", store, "--json").splitlines()]
    assert len(rows) == 5
    shown = json.loads(invoke("show", rows[0]["key"], "-s", store, "--json"))
    assert shown["id"] == rows[0]["id"] and shown["lineage"][0]["detail"] == {"from": "shipped"}
    text = invoke("show", rows[0]["id"][:9], "-s", store)
    assert rows[0]["key"] in text and "made: load" in text
    assert json.loads(invoke("stats", "-s", store, "--json"))["records"]["fact"]["current"] == 5
    assert "5  fact" in invoke("stats", "-s", store)


def test_import_again_adds_nothing(store: Path) -> None:
    again = json.loads(invoke("import", "shipped", "--store", store, "--limit", 5, "--json"))
    assert (again["facts"], again["new"]) == (5, 0)


def test_split_add_freeze_export(tmp_path: Path, store: Path) -> None:
    header = json.loads(invoke("split", "add", "mini", "-s", store, "--json"))
    assert header["split"] == "mini"
    out = tmp_path / "out.jsonl"
    assert header["digest"][:12] in invoke("split", "export", "mini", out, "-s", store)
    assert load_split(out).digest == header["digest"]
    frozen = json.loads(invoke("split", "freeze", "own", "-s", store, "--out", tmp_path / "own.jsonl", "--json"))
    assert frozen["cases"] >= header["cases"], "all of mini passes the default rule"
    assert load_split(tmp_path / "own.jsonl").digest == frozen["digest"]
    assert "own@1.0.0" in invoke("list", "split", "-s", store)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["show", "nothing", "-s", "STORE"], "no item 'nothing'"),
        (["list", "cats", "-s", "STORE"], "unknown kind 'cats'; allowed: fact"),
        (["split", "freeze", "x", "-s", "STORE", "--set", "unsur=keep"], "did you mean 'unsure'"),
        (["split", "freeze", "x", "-s", "STORE", "--set", "min_prompts=99"], "would have no case"),
        (["split", "add", "no.jsonl", "-s", "STORE"], "no such split file"),
        (["stats", "-s", "absent.duckdb"], "no such store"),
    ],
)
def test_mistakes_are_one_sentence(store: Path, args: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        invoke(*[store if a == "STORE" else a for a in args])


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["stats", "-s", "absent.duckdb"], 1, "Error: absent.duckdb: there is no such store"),
        (["sho"], 2, "Did you mean 'show'"),
        (["show"], 2, "Missing argument"),
        (["import", "no.csv", "-s", "x.duckdb"], 1, "Error: no.csv: there is no such file"),
    ],
)
def test_the_command_prints_no_traceback(args: list[str], status: int, message: str) -> None:
    done = command(*args)
    assert done.returncode == status
    assert message in done.stderr and "Traceback" not in done.stderr


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, scedit\n"
        "try: scedit.cli(['--help'], standalone_mode=True)\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'duckdb', 'openai', 'pydantic', 'numpy', 'streamlit', 'scipy'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout


@pytest.mark.parametrize("name", list(scedit.COMMANDS))
def test_every_command_has_help_and_an_example(name: str) -> None:
    text = invoke(name, "--help")
    commands = scedit.cli.get_command(None, name)  # type: ignore[arg-type]
    parts = list(getattr(commands, "commands", {}))
    for part in parts:
        assert "Example" in invoke(name, part, "--help")
    assert parts or "Example" in text


def test_show_says_what_is_plumbing(store: Path) -> None:
    from curation.store.store import Store
    from schemas.lineage import Lineage
    from tests.support.facts import peru_fact

    line = Lineage(item_id=peru_fact().id, stage="questions", made_at="2026-01-01", detail={"quality": "plumbing"})
    with Store.open(store, write=True) as opened:
        opened.put([peru_fact()], [line])
    assert "[plumbing quality]" in invoke("show", "f/peru", "-s", store)
