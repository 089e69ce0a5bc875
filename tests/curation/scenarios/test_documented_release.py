"""The documented release, by its commands: from candidate to 1.1.0 with people, errata and a false patch."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.loaders.importer import Identity, import_split
from curation.quality.sample import CRITERIA
from curation.quality.sheets import write_sheet
from curation.shipped import mini_split
from curation.splits.split_file import load_split, make_split
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.docs.pages import DOCS, blocks

CASES = mini_split().cases


def run(*words: object) -> str:
    call = [str(word) for word in words]
    result = CliRunner().invoke(scedit.commands.cli, call, standalone_mode=False, catch_exceptions=False)
    return result.stdout


def judged(store: Path, folder: Path) -> None:
    """Two people answer the sample of the latest candidate, yes to all."""
    people = ("--person", "ann", "--person", "bob")
    run("split", "sample", "draw", "documented", "-s", store, "--out", folder, "--format", "csv", *people)
    fill(folder)
    run("split", "sample", "import", *sorted(folder.glob("*.csv")), "-s", store)


def fill(folder: Path) -> None:
    """Every sheet of a folder, with yes to all."""
    for path in folder.glob("*.csv"):
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
        path.unlink()
        write_sheet([{**row, **dict.fromkeys([c.name for c in CRITERIA], "yes")} for row in rows], path)


def freeze(store: Path, version: str, *words: object) -> dict[str, Any]:
    output = run("split", "freeze", "documented", "--version", version, "-s", store, *words, "--json")
    return dict(json.loads(output))


def test_from_candidate_to_1_1_0(tmp_path: Path) -> None:
    store, errata, out = tmp_path / "s.duckdb", tmp_path / "errata.jsonl", tmp_path / "documented.jsonl"
    import_split(make_split("first", CASES[:4]), store, origin="tests", identity=Identity(source="mini"))
    freeze(store, "1.0.0-candidate")
    with pytest.raises(UserError, match="waits for a quality sample"):
        run("split", "release", "documented", "-s", store)
    judged(store, tmp_path / "first")
    assert json.loads(run("split", "release", "documented", "-s", store, "--json"))["version"] == "1.0.0"

    question = CASES[0].questions[0]  # a rewritten question passes for no patch
    with Store.open(store, write=True) as db:
        db.put([question.model_copy(update={"text": "How else can it be done?"})])
    with pytest.raises(UserError, match=f"made from content that has changed .*scedit store confirm {question.key}"):
        freeze(store, "1.0.1-candidate")
    run("store", "confirm", question.key, "--store", store)
    freeze(store, "1.0.1-candidate")
    with pytest.raises(UserError, match=r"documented 1.0.1 after 1.0.0 hides a major change"):
        run("split", "release", "documented", "-s", store, "--version", "1.0.1", "--without-sample", "a patch")
    with Store.open(store, write=True) as db:
        db.put([question])
    run("store", "confirm", question.key, "--store", store)

    import_split(make_split("second", CASES[4:7]), store, origin="tests")
    bad = CASES[6].fact.key
    run("split", "errata", "add", bad, "wrong capital", "--file", errata, "--store", store)
    candidate = freeze(store, "1.1.0-candidate", "--errata", errata)
    assert candidate["cases"] == 6 and candidate["counts"]["fact: dropped by erratum"] == 1
    assert "a minor change, version 1.1.0 or later after 1.0.0" in run(
        "split", "diff", "documented@1.0.0", "documented@1.1.0-candidate", "-s", store
    )
    judged(store, tmp_path / "second")
    header = json.loads(run("split", "release", "documented", "-s", store, "--out", out, "--json"))
    assert (header["version"], header["release"]["level"]) == ("1.1.0", "minor")
    assert header["release"]["before"]["version"] == "1.0.0" and header["errata"][0]["item"] == bad
    assert header["quality"]["samples"] and load_split(out).header["header_digest"] == header["header_digest"]
    assert "OUT, erratum drops the fact" in run("split", "explain", bad, "-s", store, "--split", "documented")


def test_the_commands_of_the_page_word_by_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder outside the clone; people fill in what ``sample draw`` wrote, and one release is refused."""
    monkeypatch.chdir(tmp_path)
    first, answered, patch, more, last = [block.text.splitlines() for block in blocks(DOCS / "deciding.md", "bash")]
    run_lines(first)
    with pytest.raises(UserError, match="have no answer"):
        run_lines(answered[:1])
    fill(Path("sheets"))
    run_lines(answered)
    assert load_split(Path("mine-1.0.0.jsonl")).header["version"] == "1.0.0"

    assert "0 added, 16 dropped, 0 changed: a major change, version 2.0.0" in run_lines(patch[:2])
    with pytest.raises(UserError, match="hides a major change") as refused:
        run_lines(patch[2:])
    assert "--version 2.0.0" in str(refused.value)

    output = run_lines(more)
    assert "OUT, erratum drops the fact" in output and "80 added, 0 dropped, 0 changed: a minor change" in output
    fill(Path("sheets-1.1"))
    run_lines(last)
    split = load_split(Path("mine-1.1.0.jsonl"))
    assert (split.header["version"], split.header["release"]["before"]["version"]) == ("1.1.0", "1.0.0")
    assert split.header["cases"] == 138 and [e["item"] for e in split.header["errata"]] == ["open/city/belem-tower"]
    assert load_split(Path("release") / "mine.jsonl").header["header_digest"] == split.header["header_digest"]


def test_the_other_commands_of_the_page_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    freeze_, sample, errata, withdrawal, release = [
        block.text.splitlines() for block in blocks(DOCS / "deciding.md", "")
    ]
    assert "IN" in run_lines(freeze_)
    run_lines(sample[:1])
    fill(Path("sheets"))
    assert "all: 1.000" in run_lines(sample[1:])
    assert "added: drop mini/cf-001/q1/s/p" in run_lines(errata)
    assert "withdrawn:" in run_lines(withdrawal)
    output = run_lines(release)
    assert "the same 58 cases" in output and "## mine 1.0.0 " in output
    header = load_split(Path("mine-1.0.0.jsonl")).header
    assert [e["action"] for e in header["errata"]] == ["drop", "withdraw"] and header["quality"]["samples"]


def run_lines(lines: list[str]) -> str:
    """Commands as a page prints them; what they said."""
    commands = [shlex.split(line, comments=True) for line in lines]
    assert all(words[0] == "scedit" for words in commands)
    return "".join(run(*words[1:]) for words in commands)
