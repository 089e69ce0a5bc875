"""The commands that keep a store: sql, backup, restore, dump, rebuild."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from curation.store.store import Store
from schemas.core.errors import StoreError, UserError
from schemas.facts import Object
from schemas.lineage import Lineage
from tests.support.commands import command
from tests.support.curation.rule_records import CHAINS, EDIT, P0, said
from tests.support.facts import peru_fact


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store_path = tmp_path / "s.duckdb"
    with Store.open(store_path, create=True) as store:
        lines = [Lineage(item_id=EDIT.id, stage="load", made_at="2026-01-01T00:00:00")]
        store.put([peru_fact(old=Object(text="Cusco"))])
        store.put([EDIT, *CHAINS[0], said(P0.id, "leak@1", "drop")], lines)
    return store_path


def run(name: str, *args: object) -> Result:
    call = [str(a) for a in args]
    return CliRunner().invoke(command(f"store {name}"), call, catch_exceptions=False, standalone_mode=False)


def test_a_query_as_a_table(path: Path) -> None:
    result = run("sql", "SELECT old, new, NULL AS nothing FROM facts", "--store", path)
    assert result.stdout.splitlines() == ["old   new   nothing", "----  ----  -------", "Lima  Oslo"]


def test_long_cells_and_line_ends_keep_to_their_column(path: Path) -> None:
    result = run("sql", "SELECT repeat('x', 61) AS long, 'a' || chr(10) || 'b' AS lines", "--store", path)
    assert result.stdout.splitlines()[-1] == "x" * 59 + "…  a b"


def test_rows_as_json(path: Path) -> None:
    result = run("sql", "SELECT key, DATE '2026-01-02' AS day FROM facts", "--store", path, "--jsonl")
    assert [json.loads(x) for x in result.stdout.splitlines()] == [{"key": "f/peru", "day": "2026-01-02"}]


@pytest.mark.parametrize(("limit", "more"), [(2, True), (3, False), (4, False)])
def test_a_limit_says_that_there_is_more(path: Path, limit: int, more: bool) -> None:
    result = run("sql", "SELECT * FROM range(3)", "--store", path, "--limit", limit)
    assert len(result.stdout.splitlines()) == 2 + min(limit, 3)
    assert (f"more than {limit} rows" in result.stderr) == more


def test_sql_may_not_write(path: Path) -> None:
    for query in ("DROP TABLE records", "", " -- nothing"):
        with pytest.raises(UserError):
            run("sql", query, "--store", path)
    assert run("sql", "SELECT key FROM facts", "--store", path).stdout.split() == ["key", "------", "f/peru"]


def content(path: Path) -> list[tuple[str, str]]:
    with Store.open(path) as store:
        return sorted((kind, json.dumps(value, sort_keys=True)) for kind, value in store.everything())


def test_a_backup_is_put_back(path: Path, tmp_path: Path) -> None:
    copy, second_path = tmp_path / "copy.duckdb", tmp_path / "again.duckdb"
    said_there = run("backup", copy, "--store", path).stdout
    assert f"{copy.stat().st_size:,} bytes" in said_there and str(copy) in said_there
    run("restore", copy, "--store", second_path)
    assert content(second_path) == content(path)
    with pytest.raises(StoreError, match="exists already"):
        run("restore", copy, "--store", second_path)
    with pytest.raises(UserError, match="an input of this command and stays as it is"):
        run("backup", path, "--store", path)


def test_a_dump_is_made_a_store_again(path: Path, tmp_path: Path) -> None:
    lines, second_path = tmp_path / "d.jsonl", tmp_path / "again.duckdb"
    assert "6 records, 1 line of lineage, 0 splits, 0 results" in run("dump", lines, "--store", path).stdout
    assert "6 records, 1 line of lineage, 0 splits" in run("rebuild", lines, "--store", second_path).stdout
    assert content(second_path) == content(path)
    with pytest.raises(UserError, match="exists already"):
        run("rebuild", lines, "--store", second_path)


@pytest.mark.parametrize("name", ["backup", "dump"])
def test_a_store_that_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="no such store"):
        run(name, tmp_path / "x", "--store", tmp_path / "absent.duckdb")
    assert list(tmp_path.iterdir()) == []
