"""The command data specificity: one model, several, a store, and a run with its set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from curation.case_sources.opening import open_specificity
from curation.store.store import Store
from evaluation.models.language_model import LM
from evaluation.runs.specificity_building import HELD_OUT
from scedit.commands import cli
from schemas.core.errors import UserError
from schemas.documents.specificity import SpecificitySet
from tests.support.commands import json_value
from tests.support.documents.pools import asked_first, near_sighted

FACTORS = {"one": 0.5, "twin": 0.3, "other": 0.2}


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(LM, "load", lambda name, **_: loaded(name))
    path = tmp_path / "pool.jsonl"
    rows = [{"item": q.item, "query": q.query, "answers": q.answers} for q in asked_first(near_sighted())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def loaded(name: str) -> LM:
    lm = near_sighted(FACTORS[name])
    lm.name = name
    return lm


def draw(pool: Path, out: Path, *more: str) -> Any:
    return CliRunner().invoke(cli, ["data", "specificity", "--pool", str(pool), "--out", str(out), *more])


def test_a_set_is_drawn_written_and_kept(pool: Path, tmp_path: Path) -> None:
    out, store = tmp_path / "known.json", tmp_path / "s.duckdb"
    result = draw(pool, out, "--model", "one", "--size", "3", "--store", str(store), "--licence", "CC0-1.0")
    assert result.exit_code == 0, result.output
    built = open_specificity(out)
    assert len(built.questions) == 3 and built.source.licence == "CC0-1.0"
    assert "3 drawn" in result.output and f'file = "{out}"' in result.output and HELD_OUT.instruction in result.output
    with Store.open(store) as kept:
        assert list(kept.all(SpecificitySet)) == [built]
    again = draw(pool, tmp_path / "again.json", "--model", "one", "--size", "3", "--json")
    (row,) = json_value(again.stdout)
    assert row["drawn"] == 3 and row["pool"] > row["candidates"] == row["left_after_each_prompt"][-1] >= 3
    assert open_specificity(tmp_path / "again.json").questions == built.questions


def test_two_models_get_the_same_questions(pool: Path, tmp_path: Path) -> None:
    result = draw(pool, tmp_path / "sets", "--model", "one", "--model", "twin", "--size", "2")
    assert result.exit_code == 0, result.output
    one, twin = open_specificity(tmp_path / "sets" / "one.json"), open_specificity(tmp_path / "sets" / "twin.json")
    assert [q.item for q in one.questions] == [q.item for q in twin.questions]
    assert (one.model, twin.model) == ("one", "twin") and "All 2 models answer" in result.output


def test_too_small_a_pool_writes_nothing(pool: Path, tmp_path: Path) -> None:
    result = draw(pool, tmp_path / "known.json", "--model", "one", "--size", "400")
    assert isinstance(result.exception, UserError) and "and 400 are wanted" in str(result.exception)
    assert not (tmp_path / "known.json").exists()


def test_a_set_of_other_weights_is_refused_by_a_run(pool: Path, tmp_path: Path) -> None:
    draw(pool, tmp_path / "known.json", "--model", "one", "--size", "3")
    run = tmp_path / "run.toml"
    run.write_text(
        f'split = "documents"\nmodel = "other"\nmetrics = ["em", "em_spec"]\nlimit = 1\nout = "{tmp_path / "run"}"\n'
        f'specificity = {{ file = "{tmp_path / "known.json"}", number = 2 }}\n[editors.none]\n',
        encoding="utf-8",
    )
    result = CliRunner().invoke(cli, ["run", str(run)])
    assert isinstance(result.exception, UserError) and "name a set that was built for this model" in str(
        result.exception
    )
    answered = CliRunner().invoke(
        cli, ["run", str(run), "--set", 'model="one"', "--set", 'specificity.instruction="Go."']
    )
    assert answered.exit_code == 0, answered.output
    description = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert description["specificity"]["instruction"] == "Go."
