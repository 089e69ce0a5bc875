"""The commands of ``scedit data`` and of ``scedit store``, and the options that all commands share."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from curation.checks.store_checks import STORE_CHECKS
from curation.cli.data import import_
from curation.cli.options import (
    editors_option,
    json_options,
    limit_option,
    names_of,
    store_option,
)
from curation.export import hub
from curation.export.publish import publish
from curation.files import local_models
from curation.files.artifact_cache import sha256
from curation.loaders import LOADERS, load
from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.facts import Fact, Object
from schemas.lineage import Lineage
from tests.support import ROOT
from tests.support import forked_programs as programs
from tests.support.commands import command, invoke
from tests.support.curation.importable_files import SHORT, write
from tests.support.curation.measured_lengths import Length
from tests.support.curation.mini_store import mini_store
from tests.support.curation.rule_records import CHAINS, EDIT, P0, said
from tests.support.facts import peru_fact
from tests.support.small import SMALL, small_split


def test_the_page_of_defects_tells_what_the_command_finds(shared: Path) -> None:
    page = (ROOT / "benchmarks/results/tables/defects.md").read_text(encoding="utf-8")
    zsre = "zsre/zsre_mend_train-1k.json"
    for name in (zsre, "counterfact/counterfact-val.json", "facts_edge_dev.jsonl"):
        kinds = Counter(problem["kind"] for problem in problems_of(shared / "data" / name))
        for kind in kinds.keys() - {"suspect", "left"}:
            assert f"| `{name}` | {kind} | {kinds[kind]:,} |" in page, (name, kind)
    output = invoke("data", "audit", shared / "data" / zsre, "--examples", 1)
    assert "977 facts as zsre" in output
    assert "21  invalid (cannot be used)" in output and "2  malformed (cannot be used)" in output
    assert problems_of(shared / "data" / zsre)[0].keys() == {"file", "where", "kind", "what"}


def problems_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in invoke("data", "audit", path, "--jsonl").splitlines()]


def test_a_folder_with_foreign_files(tmp_path: Path, peru: Fact) -> None:
    (tmp_path / "a.jsonl").write_text(peru.model_dump_json() + "\n")
    (tmp_path / "b.json").write_text('{"x": 1}')
    output = invoke("data", "audit", tmp_path)
    assert "a.jsonl: 1 fact as jsonl, 0 problems" in output and "b.json: not a known shape" in output
    with pytest.raises(UserError):
        invoke("data", "audit", tmp_path / "b.json")


def test_formats() -> None:
    text = invoke("data", "formats")
    assert all(name in text for name in LOADERS.names()) and "known_1000.json: 1,209 records" in text
    rows = [json.loads(line) for line in invoke("data", "formats", "--jsonl").splitlines()]
    assert [r["format"] for r in rows] == LOADERS.names() and all(r["licence"] for r in rows)


def test_convert(tmp_path: Path) -> None:
    table, output, mapping = (tmp_path / name for name in ("f.csv", "o.jsonl", "m.toml"))
    table.write_text("who,answer,edit\nPeru,Lima,Oslo\nChad,A,A\n")
    mapping.write_text('values = { prompt = "{} has", relation = "P36" }\n')
    words = ["data", "convert", table, output, "--mapping", mapping]
    words += [x for pair in ("subject=who", "old=answer", "new=edit") for x in ("--map", pair)]
    with pytest.raises(UserError):
        invoke(*words)
    assert not output.exists()
    text = invoke(*words, "--skip-bad")
    assert "1 record (1 fact read as table)" in text and "line 3: invalid" in text
    assert load(output).facts[0].subject.text == "Peru"


def test_import_lists_conflicts_and_says_what_a_correction_changed(tmp_path: Path) -> None:
    store, custom, other = (str(tmp_path / name) for name in ("s.duckdb", "mine.jsonl", "other.jsonl"))
    keyed = [{**SHORT, "key": f"f/{n}", "subject": f"Land {n}"} for n in range(13)]

    def run(*words: str, ok: bool = True) -> str:
        result = CliRunner().invoke(import_, [*words, "--store", store])
        assert (result.exit_code == 0) == ok, result.output
        return result.output + (str(result.exception) if result.exception else "")

    write(tmp_path / "mine.jsonl", *keyed)
    assert "13 of them new, 0 problems; source 'mine'" in run(custom, "--source", "mine")
    write(tmp_path / "mine.jsonl", {**keyed[0], "old": "Cusco"}, *keyed[2:])
    text = run(custom, "--source", "mine")
    assert "0 of them new, 1 changed, 1 gone" in text and "no longer current: f/1\n" in text
    assert "changed: f/0\n" in text and text.count("f/") == 2
    write(tmp_path / "other.jsonl", *({**row, "old": "Bonn"} for row in keyed))
    refusal = run(other, ok=False)
    assert refusal.count("conflict: fact f/") == 10 and "... and 2 more" in refusal
    assert "--replace" in refusal and "--source 'mine'" in refusal
    assert "give --replace or --as, not both" in run(other, "--replace", "--as", "b", ok=False)
    taken = run(other, "--replace", "--source", "other")
    assert "1 of them new, 12 changed, 12 taken over" in taken
    assert taken.count("changed: f/") == 10 and "changed: ... and 2 more\n" in taken
    write(tmp_path / "other.jsonl", keyed[12])
    assert "12 of 13 records that 'other' brought would be gone" in run(other, "--source", "other", ok=False)
    fewer = json.loads(run(other, "--yes", "--json", "--source", "other").splitlines()[-1])
    assert fewer["gone"] == 12 and len(fewer["gone_keys"]) == 10 and fewer["changed_keys"] == ["f/12"]
    assert json.loads(run(custom, "--as", "b", "--json").splitlines()[-1])["new"] == 12


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
    with pytest.raises(click.UsageError, match="--store"):
        invoke("store", "check")


def test_local_is_fetched_where_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(local_models, "fetch", {"local": path}.__getitem__)
    output = invoke("model", "fetch")
    assert str(path) in output and sha256(path) in output
    assert output.count("Qwen2.5-Coder-1.5B-Instruct (local, Q4_K_M)") == 1


def test_a_release_is_sent_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = publish(make_split("two", small_split().cases[:2]), tmp_path / "r", formats=("split",)).folder
    sizes = {path.name: path.stat().st_size for path in release.iterdir()}
    calls = []
    monkeypatch.setattr(hub, "push_files", lambda *a, **k: calls.append((a, k)) or "https://hub/1")
    words = ["split", "push", release, "me/two"]
    told = invoke(*words, "--dry-run")
    data = json.loads(invoke(*words, "--dry-run", "--json"))
    assert data["files"] == sizes and data["sent"] is False and not calls
    assert all(name in told for name in sizes) and "nothing was sent to me/two" in told
    assert "https://hub/1" in invoke(*words, "--public", "--message", "m")
    (((files, repository), options),) = calls
    assert {file.name for file in files} == sizes.keys() and repository == "me/two"
    assert options == {"kind": "dataset", "public": True, "message": "m"}
    (release / "mine.txt").write_text("x")
    for folder, name in ((release, "me/two"), (release, "two"), (tmp_path, "me/two")):
        with pytest.raises(UserError):
            invoke("split", "push", folder, name)
    assert len(calls) == 1


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


def test_a_query_as_a_table_and_as_json(path: Path) -> None:
    def rows(query: str, *more: object) -> list[str]:
        return run("sql", query, "--store", path, *more).stdout.splitlines()

    facts = rows("SELECT old, new, NULL AS nothing FROM facts")
    assert facts == ["old   new   nothing", "----  ----  -------", "Lima  Oslo"]
    long = rows("SELECT repeat('x', 61) AS long, 'a' || chr(10) || 'b' AS lines")
    assert long[-1] == "x" * 59 + "…  a b", "long cells and line ends keep to their column"
    lines = rows("SELECT key, DATE '2026-01-02' AS day FROM facts", "--jsonl")
    assert [json.loads(x) for x in lines] == [{"key": "f/peru", "day": "2026-01-02"}]
    for limit in (2, 3, 4):
        result = run("sql", "SELECT * FROM range(3)", "--store", path, "--limit", limit)
        assert len(result.stdout.splitlines()) == 2 + min(limit, 3)
        assert (f"more than {limit} rows" in result.stderr) == (limit == 2)


def test_a_backup_is_put_back_and_a_dump_made_a_store_again(path: Path, tmp_path: Path) -> None:
    """That the stores hold the same: ``store/test_store.py``."""
    copy, lines, restored, rebuilt = (tmp_path / name for name in ("c.duckdb", "d.jsonl", "r.duckdb", "b.duckdb"))
    said_there = run("backup", copy, "--store", path).stdout
    assert f"{copy.stat().st_size:,} bytes" in said_there and str(copy) in said_there
    run("restore", copy, "--store", restored)
    assert "6 records, 1 line of lineage, 0 splits, 0 results" in run("dump", lines, "--store", path).stdout
    assert "6 records, 1 line of lineage, 0 splits" in run("rebuild", lines, "--store", rebuilt).stdout
    for name, source, target in (("restore", copy, restored), ("rebuild", lines, rebuilt)):
        with Store.open(target) as store, Store.open(path) as original:
            assert store.stats()["records"] == original.stats()["records"]
        with pytest.raises(UserError, match="exists already"):
            run(name, source, "--store", target)
    with pytest.raises(UserError, match="an input of this command and stays as it is"):
        run("backup", path, "--store", path)


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


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["store", "show", "nothing", "-s", "STORE"], "no item 'nothing'"),
        (["store", "list", "cats", "-s", "STORE"], "unknown kind 'cats'; allowed: fact"),
        (["split", "freeze", "x", "-s", "STORE", "--set", "unsur=keep"], "did you mean 'unsure'"),
        (["split", "freeze", "x", "-s", "STORE", "--set", "min_prompts=99"], "would have no case"),
        (["split", "add", "no.jsonl", "-s", "STORE"], "no such split file; allowed: a file, or mini, open, open:dev"),
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
    process = programs.run(programs.CLI, *args)
    assert process.returncode == status
    assert message in process.stderr and "Traceback" not in process.stderr


def test_show_says_what_is_of_smoke_test_quality(store: Path) -> None:
    line = Lineage(item_id=peru_fact().id, stage="questions", made_at="2026-01-01", detail={"quality": "plumbing"})
    with Store.open(store, write=True) as db:
        db.put([peru_fact()], [line])
    result = invoke("store", "show", "f/peru", "-s", store)
    assert "[smoke-test quality]" in result and "plumbing" not in result
    data = json.loads(invoke("store", "show", "f/peru", "-s", store, "--json"))
    assert data["lineage"][0]["detail"] == {"quality": "plumbing"}, "the stored word stays"


def test_prompts_shows_cases_as_text(tmp_path: Path) -> None:
    invoke("split", "add", SMALL, "--store", path := tmp_path / "m.duckdb")
    text = invoke("store", "prompts", "--split", "mini", "--store", path, "--limit", 2)
    assert text.count("case/mini/") == 3 and "Buy a train ticket to [CUT]Paris" in text
    assert "... more cases: --after case/mini/cf-002" in text
    later = invoke("store", "prompts", "--split", "mini", "--store", path, "--after", "case/mini/cf-002", "--limit", 99)
    assert "case/mini/cf-001" not in later and "more cases" not in later


@pytest.fixture(scope="module")
def overlap_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mini_store(tmp_path_factory.mktemp("dedup"))


def test_the_command_writes_verdicts_and_judging_again_replaces_them(overlap_store: Path) -> None:
    lines = invoke("store", "dedup", "-s", overlap_store, "--threshold", 0.6, "--jsonl").splitlines()
    data = json.loads(lines[0])
    assert data["by"] == "near_duplicate@1" and data["verdicts_written"] == data["items"] > 200
    with Store.open(overlap_store) as s:
        one = {v.item_id: v for v in s.verdicts() if v.check == "near_duplicate"}
    assert len(one) == data["items"] and sum(v.value is not None for v in one.values()) == data["duplicates"]
    invoke("store", "dedup", "-s", overlap_store, "--threshold", 0.9)
    with Store.open(overlap_store) as s:
        two = [v for v in s.verdicts() if v.check == "near_duplicate"]
    assert len(two) == len(one), "one current verdict an item"
    assert all(v.value is None or v.value >= 0.9 for v in two)


def test_a_dry_run_writes_nothing_and_shows_clusters(overlap_store: Path) -> None:
    words = ["--within", "relation", "--threshold", 0.6, "--split", "mini", "--dry-run"]
    with Store.open(overlap_store) as s:
        before = s.stats()
    text = invoke("store", "dedup", "-s", overlap_store, *words)
    assert "nothing written" in text and "stays" in text and "near" not in text.split(";")[1]
    with Store.open(overlap_store) as s:
        assert s.stats() == before


@click.command()
@editors_option()
@limit_option(also="things.")
@store_option(required=False)
@json_options
def tool(editors: tuple[str, ...], limit: int | None, store_path: object, as_json: bool) -> None:
    if not as_json:
        click.echo(f"{editors} {limit}")
        return
    for n, name in enumerate(editors):
        if name == "fail":
            raise UserError("half-way")
        click.echo(json.dumps({"n": n, "name": f"{name}\n{{"}))


call = partial(CliRunner().invoke, tool)


def test_names_may_be_divided_by_commas_or_given_again() -> None:
    for values, names in ((["a,b"], ("a", "b")), (["a", "b"], ("a", "b")), ([" a , b,", "a"], ("a", "b")), ([], ())):
        assert names_of(tuple(values)) == names
        assert call([x for v in values for x in ("--editors", v)]).output == f"{names} None\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *((["--editors", value], "names no method") for value in ("", ",", " , ")),
        (["--json", "--jsonl"], "give --json or --jsonl, not both"),
    ],
)
def test_options_that_are_refused(words: list[str], message: str) -> None:
    result = call(words)
    assert result.exit_code == 2 and message in result.output


@pytest.mark.parametrize("names", ["", "a", "a,b", "a,b,c"])
def test_json_is_one_value_and_jsonl_is_lines(names: str) -> None:
    words = ["--editors", names] if names else []
    rows = [json.loads(line) for line in call([*words, "--jsonl"]).output.splitlines()]
    assert json.loads(call([*words, "--json"]).output) == rows
    assert [r["name"] for r in rows] == [f"{n}\n{{" for n in names.split(",") if n]


def test_a_failure_closes_the_array_and_one_before_the_first_row_prints_nothing() -> None:
    late, early = (call(["--editors", names, "--json"]) for names in ("a,fail", "fail"))
    assert isinstance(late.exception, UserError) and json.loads(late.stdout)[0]["n"] == 0
    assert isinstance(early.exception, UserError) and early.stdout == ""
