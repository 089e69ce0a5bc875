from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from curation.export.fact_formats import write_cf, write_t
from curation.files.artifact_cache import sha256
from evaluation.cli.reproduce import reproduce as command
from evaluation.reproduction.published import CASES, published_tables
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from tests.support.ratings import rated_store
from tests.support.report import published_figures

folder = published_figures.folder


def shown(*words: str) -> str:
    return CliRunner().invoke(command, list(words), catch_exceptions=False).stdout


def test_command_lists_shows_and_prints_json(folder):
    listing = shown()
    assert all(n in listing for n in published_tables())
    assert [table["name"] for table in json.loads(shown("--json"))] == list(published_tables())
    text = shown("scedit-table2", str(folder))
    assert "impossible interval, should be 0.53" in text and "not comparable" in text and "MISSING" in text
    data = [json.loads(x) for x in shown("scedit-table5", "--jsonl").splitlines()]
    assert [x["printed"]["value"] for x in data if "printed" in x] == [0.59, 0.35, -0.09, 0.25]
    assert any("need" in x for x in data)


def test_published_files_are_checked_case_by_case_and_their_digests_told(folder, tmp_path, monkeypatch):
    split = load_run(folder).split
    write_cf(split, tmp_path / "ScEdit-CF.json")
    write_t(split, tmp_path / "ScEdit-T.json")
    monkeypatch.setitem(CASES, "ScEdit-CF", 6)
    assert "name the folder of ScEdit-CF.json with --data" in shown("scedit-table2", str(folder))
    text = shown("scedit-table2", str(folder), "--data", str(tmp_path))
    assert "Tolerance: half width of the difference" in text
    assert f"SHA-256 {sha256(tmp_path / 'ScEdit-CF.json')}" in text and split.digest[:12] in text
    (tmp_path / "ScEdit-CF.json").write_text((tmp_path / "ScEdit-CF.json").read_text().replace("Fly to", "Sail to", 1))
    text = shown("scedit-table2", str(folder), "--data", str(tmp_path))
    assert "other data than ScEdit-CF.json: 1 case of 6 is not in the file" in text and "Tolerance:" not in text


def test_a_store_alone_serves_texts_of_closed_models_and_no_token_table(folder, tmp_path):
    store = tmp_path / "closed.duckdb"
    run = load_run(folder)
    rated_store(store, run._replace(about={**run.about, "model": "gpt-4o"}), ("judge:gpt-4o-2024-11-20",))
    text = shown("scedit-table8", "--store", str(store))
    assert "8 cases, not 100" in text and "rated by gpt-4o-2024-11-20" in text
    with pytest.raises(UserError, match="name the run too"):
        shown("scedit-table2", "--store", str(store))
