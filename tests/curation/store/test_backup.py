from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.loaders.importer import import_split
from curation.shipped import mini_split
from curation.store.backup import dump, query, rebuild, restore, snapshot
from curation.store.store import Store
from schemas.answers import Answer, TargetScore
from schemas.core.errors import DataError, StoreError, UserError
from schemas.facts import Object
from schemas.runs import CaseResult, RunManifest
from schemas.verdicts import Verdict, verdict_key
from tests.support import ROOT
from tests.support.facts import peru_fact


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a split, two versions of a fact, a verdict and a result."""
    path = tmp_path / "s.duckdb"
    import_split(mini_split(), path, origin="mini")
    item = peru_fact(old=Object(text="Lima", aliases=("x",)))
    by = "leak_in_question@1"
    manifest = RunManifest(
        key="run1", editor="none", editor_version=1, params={}, model="m", model_revision="r", dtype="float32",
        split="s", split_digest="d", regime="single", components={},
    )  # fmt: skip
    answer = Answer(probe="p", targets=(TargetScore(text="a", logprob=-1.5, tokens=2),))
    with Store.open(path, write=True) as store:
        store.put([item])
        store.put([peru_fact()])
        store.put([Verdict(key=verdict_key(item_id=item.id, by=by), item_id=item.id, by=by, label="keep")])
        store.put_results(manifest, [CaseResult(run="run1", case="c", answers=(answer,))])
    return path


def content(path: Path) -> list[str]:
    with Store.open(path) as store:
        return sorted(json.dumps(x, sort_keys=True) for x in store.everything())


def test_a_rebuilt_store_is_the_same(path: Path, tmp_path: Path) -> None:
    with Store.open(path) as store:
        sizes = dump(store, tmp_path / "d.jsonl")
    assert rebuild(tmp_path / "d.jsonl", tmp_path / "again.duckdb") == sizes
    assert content(tmp_path / "again.duckdb") == content(path)
    with Store.open(tmp_path / "again.duckdb") as db:
        assert db.get("f/peru") == peru_fact(), "the current version is the current one"
        assert db.split("mini").digest == mini_split().digest


def test_a_snapshot_is_made_while_the_writer_works(path: Path, tmp_path: Path) -> None:
    before = content(path)
    copy = tmp_path / "live" / "copy.duckdb"
    with Store.open(path, write=True) as store:
        snapshot(store, copy)
        store.put([peru_fact("f/later")])
        assert content(copy) == before
        locked = subprocess.run(
            [sys.executable, "-c", f"from curation.store.store import Store; Store.open({str(path)!r})"],
            capture_output=True,
        )
        assert locked.returncode != 0, "copying must not give the writer's lock away"
        snapshot(store, copy)
    assert content(copy) == content(path) != before


def test_restore(path: Path, tmp_path: Path) -> None:
    with Store.open(path) as store:
        snapshot(store, tmp_path / "b.duckdb")
    restore(tmp_path / "b.duckdb", tmp_path / "new.duckdb")
    assert content(tmp_path / "new.duckdb") == content(path)
    with pytest.raises(StoreError, match="exists already"):
        restore(tmp_path / "b.duckdb", path)
    (tmp_path / "bad").write_text("no store")
    with pytest.raises(StoreError, match="not a DuckDB file"):
        restore(tmp_path / "bad", tmp_path / "other.duckdb")
    assert not (tmp_path / "other.duckdb").exists()


FACT = '"kind":"fact"'


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: [*lines[:-2], lines[-2][:20]], "not JSON"),
        (lambda lines: [*lines[:3], *lines[4:]], "cut off"),
        (lambda lines: [*lines[:3], '{"cat": 1}', *lines[3:]], "line 4: a dump has no 'cat'"),
        (lambda lines: [lines[0], lines[1].replace('"kind":"fact"', '"kind":"fiction"'), *lines[2:]], "line 2: not a"),
        (lambda lines: [line.replace("f/peru", "f/chad") if FACT in line else line for line in lines], "fit its id"),
        (lambda lines: lines[1:], "not a dump"),
        (lambda lines: lines[:-1], "cut off"),
    ],
)
def test_a_spoilt_dump_leaves_no_store(
    path: Path, tmp_path: Path, spoil: Callable[[list[str]], list[str]], message: str
) -> None:
    with Store.open(path) as store:
        dump(store, tmp_path / "d.jsonl")
    lines = (tmp_path / "d.jsonl").read_text().splitlines()
    (tmp_path / "d.jsonl").write_text("\n".join(spoil(lines)))
    with pytest.raises(DataError, match=message):
        rebuild(tmp_path / "d.jsonl", tmp_path / "again.duckdb")
    assert sorted(p.name for p in tmp_path.glob("again*")) == []


def test_sql_reads_and_does_not_write(path: Path, tmp_path: Path) -> None:
    query_result = query(path, "SELECT subject, old, new FROM facts WHERE key = 'f/peru'")
    assert query_result == (["subject", "old", "new"], [("Peru", "Lima", "Oslo")])
    assert len(query(path, "SELECT * FROM prompts", limit=3).rows) == 3
    for statement in (
        "DELETE FROM records",
        f"COPY facts TO '{tmp_path}/out.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT nonsense FROM facts",
        "SET enable_external_access = true",
    ):
        with pytest.raises(UserError, match="the query fails"):
            query(path, statement)
    assert not (tmp_path / "out.csv").exists()


def test_every_view_can_be_read(path: Path) -> None:
    for view in ("facts", "questions", "scripts", "prompts", "neighbours", "verdicts"):
        assert query(path, f"SELECT * FROM {view}", limit=1).columns


def test_the_page_names_all_columns_of_tables_and_views(path: Path) -> None:
    page = (ROOT / "docs" / "store.md").read_text(encoding="utf-8")
    fields = {m[1]: m[2].strip().split(", ") for m in re.finditer(r"^\| `(\w+)` \| ([\w, ]+) \|$", page, re.MULTILINE)}
    query_result = query(
        path, "SELECT table_name, column_name FROM information_schema.columns ORDER BY ordinal_position"
    )
    results: dict[str, list[str]] = {}
    for table, column in query_result.rows:
        results.setdefault(table, []).append(column)
    assert fields == results


@pytest.mark.parametrize("full", [True, False])
def test_writing_that_fails_half_way_leaves_no_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    def broken(self: Store) -> Iterator[tuple[str, Any]]:
        yield "records", {"kind": "fact"}
        raise OSError(28, "No space left on device") if full else KeyboardInterrupt

    def copied(self: Store, target: Path) -> None:
        target.write_text("half")
        raise OSError(28, "No space left on device") if full else KeyboardInterrupt

    monkeypatch.setattr(Store, "everything", broken)
    monkeypatch.setattr(Store, "copy_to", copied)
    with Store.open(path) as store:
        for write in (snapshot, dump):
            with pytest.raises(UserError if full else KeyboardInterrupt):
                write(store, tmp_path / "x")
            assert not list(tmp_path.glob("*x*"))


def test_unwritable_places(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Store.open(path) as store:
        for write in (snapshot, dump):
            with pytest.raises(UserError, match="cannot be written"):
                write(store, tmp_path / "file" / "x")
        with pytest.raises(UserError, match="onto itself"):
            snapshot(store, path)
    with pytest.raises(UserError, match="exists already"):
        rebuild(tmp_path / "file", path)
    with pytest.raises(UserError, match="no such file"):
        rebuild(tmp_path / "absent", tmp_path / "n.duckdb")
