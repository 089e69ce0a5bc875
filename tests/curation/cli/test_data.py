"""The commands of ``scedit data``: import, formats, audit, convert."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import scedit.commands
from curation.checks.store_checks import STORE_CHECKS
from curation.cli.data import audit as audit_command
from curation.cli.data import convert, formats, import_
from curation.cli.hub import push
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


def test_defects_of_real_data(shared: Path) -> None:
    path = str(shared / "data" / "zsre" / "zsre_mend_train-1k.json")
    result = CliRunner().invoke(audit_command, [path, "--examples", "1"])
    assert "977 facts as zsre" in result.output
    assert "21  invalid (cannot be used)" in result.output and "2  malformed (cannot be used)" in result.output
    lines = CliRunner().invoke(audit_command, [path, "--jsonl"]).output.splitlines()
    assert {"file", "where", "kind", "what"} == set(json.loads(lines[0]))


def test_the_page_of_defects_tells_what_the_command_finds(shared: Path) -> None:
    page = (ROOT / "benchmarks/results/tables/defects.md").read_text(encoding="utf-8")
    names = ["counterfact/counterfact-val.json"]
    names += ["zsre/zsre_mend_train-1k.json", "facts_edge_dev.jsonl"]
    for name in names:
        lines = json_lines(shared / "data" / name)
        for kind in {p["kind"] for p in lines} - {"suspect", "left"}:
            count = sum(p["kind"] == kind for p in lines)
            assert f"| `{name}` | {kind} | {count:,} |" in page, (name, kind, count)


def json_lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in CliRunner().invoke(audit_command, [str(path), "--jsonl"]).output.splitlines()]


def test_a_folder_with_foreign_files(tmp_path: Path, peru: Fact) -> None:
    (tmp_path / "a.jsonl").write_text(peru.model_dump_json() + "\n")
    (tmp_path / "b.json").write_text('{"x": 1}')
    result = CliRunner().invoke(audit_command, [str(tmp_path)])
    assert result.exit_code == 0
    assert "a.jsonl: 1 fact as jsonl, 0 problems" in result.output and "b.json: not a known shape" in result.output
    outcome = CliRunner().invoke(audit_command, [str(tmp_path / "b.json")])
    assert isinstance(outcome.exception, UserError)


def test_formats() -> None:
    text = CliRunner().invoke(formats).output
    assert all(name in text for name in LOADERS.names()) and "known_1000.json: 1,209 records" in text
    rows = [json.loads(line) for line in CliRunner().invoke(formats, ["--jsonl"]).output.splitlines()]
    assert [r["format"] for r in rows] == LOADERS.names() and all(r["licence"] for r in rows)


def test_convert(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("who,answer,edit\nPeru,Lima,Oslo\nChad,A,A\n")
    words = ["--map", "subject=who", "--map", "old=answer", "--map", "new=edit", "--mapping", str(tmp_path / "m.toml")]
    (tmp_path / "m.toml").write_text('values = { prompt = "{} has", relation = "P36" }\n')
    outcome = CliRunner().invoke(convert, [str(tmp_path / "f.csv"), str(tmp_path / "o.jsonl"), *words])
    assert isinstance(outcome.exception, UserError) and not (tmp_path / "o.jsonl").exists()
    result = CliRunner().invoke(convert, [str(tmp_path / "f.csv"), str(tmp_path / "o.jsonl"), *words, "--skip-bad"])
    assert result.exit_code == 0, result.output
    assert "1 record (1 fact read as table)" in result.output and "line 3: invalid" in result.output
    assert load(tmp_path / "o.jsonl").facts[0].subject.text == "Peru"


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


def test_command_needs_a_store() -> None:

    with pytest.raises(click.UsageError, match="--store"):
        invoke("store", "check")


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was fetched: by a function in place of ours, that reports two parts."""
    names: list[str] = []

    def fetch(name: str) -> Path:
        names.append(name)
        path = tmp_path / "m.gguf"
        path.write_bytes(b"GGUF" + name.encode())
        return path

    monkeypatch.setattr(local_models, "fetch", fetch)
    return names


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(scedit.commands.cli, ["model", "fetch", *words])
    return result.exit_code, str(result.exception) if isinstance(result.exception, UserError) else result.output


def test_local_is_fetched_where_nothing_is_named(fetched: list[str], tmp_path: Path) -> None:
    code, output = run()
    assert code == 0 and fetched == ["local"]
    assert str(tmp_path / "m.gguf") in output and sha256(tmp_path / "m.gguf") in output
    assert output.count("Qwen2.5-Coder-1.5B-Instruct (local, Q4_K_M)") == 1


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return publish(make_split("two", small_split().cases[:2]), tmp_path / "r", formats=("split",)).folder


def test_a_dry_run_lists_and_sends_nothing(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "push_files", lambda *a, **k: pytest.fail("sent"))
    words = [str(release), "me/two", "--dry-run"]
    result = CliRunner().invoke(push, words, catch_exceptions=False)
    data = json.loads(CliRunner().invoke(push, [*words, "--json"], catch_exceptions=False).stdout)
    assert data["files"] == {p.name: p.stat().st_size for p in release.iterdir()} and data["sent"] is False
    assert all(name in result.stdout for name in data["files"]) and "nothing was sent to me/two" in result.stdout


def test_what_is_sent_and_where(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(hub, "push_files", lambda *a, **k: calls.append((a, k)) or "https://hub/1")
    result = CliRunner().invoke(push, [str(release), "me/two", "--public", "--message", "m"], catch_exceptions=False)
    (((files, repository), options),) = calls
    assert {file.name for file in files} == {path.name for path in release.iterdir()} and repository == "me/two"
    assert options == {"kind": "dataset", "public": True, "message": "m"} and "https://hub/1" in result.stdout


def test_refusals_come_before_anything_is_sent(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "push_files", lambda *a, **k: pytest.fail("sent"))
    (release / "mine.txt").write_text("x")
    for words in ([str(release), "me/two"], [str(release), "two"], [str(release.parent), "me/two"]):
        assert isinstance(CliRunner().invoke(push, words).exception, UserError)
