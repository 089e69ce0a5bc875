"""The commands of ``scedit data``: import, formats, audit, convert."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from curation.checks.store_checks import STORE_CHECKS
from curation.cli.data import import_
from curation.export import hub
from curation.export.publish import publish
from curation.files import local_models
from curation.files.artifact_cache import sha256
from curation.loaders import LOADERS, load
from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.facts import Fact
from tests.support import ROOT
from tests.support.commands import invoke
from tests.support.curation.importable_files import SHORT, write
from tests.support.curation.measured_lengths import Length
from tests.support.facts import peru_fact
from tests.support.small import small_split


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
