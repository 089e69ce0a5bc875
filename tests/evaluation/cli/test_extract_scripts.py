"""The command ``results extract-scripts``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from annotation_ui.campaigns.script_import import read_scripts
from curation.shipped import mini_split
from curation.store.store import Store
from evaluation.runs.generated_scripts import CEILING
from evaluation.runs.results import Run, load_run
from scedit.commands import cli
from schemas.generated_scripts import GeneratedScript
from tests.support.arithmetic import go


@pytest.fixture
def run(tmp_path: Path) -> Run:
    go(tmp_path / "run", split=mini_split(), metrics=["s_es_gen_question"], limit=3)
    return load_run(tmp_path / "run")


def test_command(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    with Store.open(store, write=True, create=True) as db:
        for case in mini_split().cases:
            db.put([case.fact, *case.questions])
    result = CliRunner().invoke(cli, ["results", "extract-scripts", str(run.folder), "--store", str(store), "--jsonl"])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert [(t["editor"], t["scripts"], t["refused"]) for t in rows] == [("none", 12, 0), ("push", 12, 0)]
    with Store.open(store) as db:
        scripts = list(db.all(GeneratedScript))
        (line,) = db.lineage(scripts[0].id)
    assert {s.id for s in scripts} == {s.id for s in read_scripts(run.folder / "scripts.jsonl")}
    assert line.stage == "generate" and line.detail["ended"] == "eos" and line.detail["max_tokens"] == 256
    result = CliRunner().invoke(
        cli, ["results", "extract-scripts", str(run.folder), "--ceiling", "--out", str(tmp_path / "c.jsonl")]
    )
    assert result.exit_code == 0 and f"{CEILING}: 12 scripts, 0 without steps, 0 refused" in result.output


def test_a_store_without_the_split_is_refused(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    with Store.open(store, write=True, create=True):
        pass
    result = CliRunner().invoke(cli, ["results", "extract-scripts", str(run.folder), "--store", str(store)])
    assert result.exit_code != 0
    assert "the store lacks what the scripts belong to" in str(result.exception or result.output)
