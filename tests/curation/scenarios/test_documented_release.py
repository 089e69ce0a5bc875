"""The documented release, by its commands: from candidate to 1.1.0 with people, errata and a false patch."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import scedit
from curation.loaders.importer import Identity, import_split
from curation.quality.sample import CRITERIA
from curation.quality.sheets import write_sheet
from curation.shipped import mini_split
from curation.splits.split_file import load_split, make_split
from curation.store.store import Store
from schemas.core.errors import UserError

CASES = mini_split().cases


def run(*words: object) -> str:
    call = [str(word) for word in words]
    result = CliRunner().invoke(scedit.cli, call, standalone_mode=False, catch_exceptions=False)
    return result.stdout


def judged(store: Path, folder: Path) -> None:
    """Two people answer the sample of the latest candidate, yes to all."""
    people = ("--person", "ann", "--person", "bob")
    run("split", "sample", "draw", "documented", "-s", store, "--out", folder, "--format", "csv", *people)
    for path in folder.glob("*.csv"):
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
        path.unlink()
        write_sheet([{**row, **dict.fromkeys([c.name for c in CRITERIA], "yes")} for row in rows], path)
    run("split", "sample", "import", *sorted(folder.glob("*.csv")), "-s", store)


def freeze(store: Path, version: str, *words: object) -> dict[str, Any]:
    said = run("split", "freeze", "documented", "--version", version, "-s", store, *words, "--json")
    return dict(json.loads(said))


def test_from_candidate_to_1_1_0(tmp_path: Path) -> None:
    store, errata, out = tmp_path / "s.duckdb", tmp_path / "errata.jsonl", tmp_path / "documented.jsonl"
    import_split(make_split("first", CASES[:4]), store, origin="tests", identity=Identity(source="mini"))
    freeze(store, "1.0.0-candidate")
    with pytest.raises(UserError, match="waits for a quality sample"):
        run("split", "release", "documented", "-s", store)
    judged(store, tmp_path / "first")
    assert json.loads(run("split", "release", "documented", "-s", store, "--json"))["version"] == "1.0.0"

    question = CASES[0].questions[0]  # a rewritten question passes for no patch
    with Store.open(store, write=True) as opened:
        opened.put([question.model_copy(update={"text": "How else can it be done?"})])
    freeze(store, "1.0.1-candidate")
    with pytest.raises(UserError, match=r"documented 1.0.1 after 1.0.0 hides a major change"):
        run("split", "release", "documented", "-s", store, "--version", "1.0.1", "--without-sample", "a patch")
    with Store.open(store, write=True) as opened:
        opened.put([question])

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
