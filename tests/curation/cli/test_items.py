from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from schemas.core.errors import UserError
from tests.support import forked_programs as programs


def invoke(*args: object) -> str:
    result = CliRunner().invoke(
        scedit.commands.cli, [str(a) for a in args], standalone_mode=False, catch_exceptions=False
    )
    return result.output


def command(*args: object) -> subprocess.CompletedProcess[str]:
    return programs.run(programs.CLI, *args)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.duckdb"
    assert "5 facts read as jsonl, 5 of them new" in invoke("data", "import", "shipped", "--store", path, "--limit", 5)
    return path


def test_import_show_list_stats(store: Path) -> None:
    rows = [json.loads(x) for x in invoke("store", "list", "fact", "-s", store, "--jsonl").splitlines()]
    assert len(rows) == 5
    data = json.loads(invoke("store", "show", rows[0]["key"], "-s", store, "--json"))
    assert data["id"] == rows[0]["id"] and data["lineage"][0]["detail"] == {"from": "shipped"}
    text = invoke("store", "show", rows[0]["id"][:9], "-s", store)
    assert rows[0]["key"] in text and "made: load" in text
    assert json.loads(invoke("store", "stats", "-s", store, "--json"))["records"]["fact"]["current"] == 5
    assert "5  fact" in invoke("store", "stats", "-s", store)


def test_import_again_adds_nothing(store: Path) -> None:
    reloaded = json.loads(invoke("data", "import", "shipped", "--store", store, "--limit", 5, "--json"))
    assert (reloaded["facts"], reloaded["new"]) == (5, 0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["store", "show", "nothing", "-s", "STORE"], "no item 'nothing'"),
        (["store", "list", "cats", "-s", "STORE"], "unknown kind 'cats'; allowed: fact"),
        (["split", "freeze", "x", "-s", "STORE", "--set", "unsur=keep"], "did you mean 'unsure'"),
        (["split", "freeze", "x", "-s", "STORE", "--set", "min_prompts=99"], "would have no case"),
        (["split", "add", "no.jsonl", "-s", "STORE"], "no such split file"),
        (["store", "stats", "-s", "absent.duckdb"], "no such store"),
    ],
)
def test_mistakes_are_one_sentence(store: Path, args: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        invoke(*[store if a == "STORE" else a for a in args])


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["store", "stats", "-s", "absent.duckdb"], 1, "Error: absent.duckdb: there is no such store"),
        (["stor"], 2, "Did you mean 'store'"),
        (["store", "sho"], 2, "Did you mean 'show'"),
        (["store", "show"], 2, "Missing argument"),
        (["data", "import", "no.csv", "-s", "x.duckdb"], 1, "Error: no.csv: there is no such file"),
    ],
)
def test_the_command_prints_no_traceback(args: list[str], status: int, message: str) -> None:
    process = command(*args)
    assert process.returncode == status
    assert message in process.stderr and "Traceback" not in process.stderr


def test_show_says_what_is_of_smoke_test_quality(store: Path) -> None:
    from curation.store.store import Store
    from schemas.lineage import Lineage
    from tests.support.facts import peru_fact

    line = Lineage(item_id=peru_fact().id, stage="questions", made_at="2026-01-01", detail={"quality": "plumbing"})
    with Store.open(store, write=True) as db:
        db.put([peru_fact()], [line])
    result = invoke("store", "show", "f/peru", "-s", store)
    assert "[smoke-test quality]" in result and "plumbing" not in result
    data = json.loads(invoke("store", "show", "f/peru", "-s", store, "--json"))
    assert data["lineage"][0]["detail"] == {"quality": "plumbing"}, "the stored word stays"


def test_prompts_shows_cases_as_text(tmp_path: Path) -> None:
    invoke("split", "add", "mini", "--store", path := tmp_path / "m.duckdb")
    text = invoke("store", "prompts", "--split", "mini", "--store", path, "--limit", 2)
    assert text.count("case/mini/") == 3 and "Buy a train ticket to [CUT]Paris" in text
    assert "... more cases: --after case/mini/cf-002" in text
    later = invoke("store", "prompts", "--split", "mini", "--store", path, "--after", "case/mini/cf-002", "--limit", 99)
    assert "case/mini/cf-001" not in later and "more cases" not in later
