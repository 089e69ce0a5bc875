"""``scedit results calibrate`` from the outside: options, text and JSON, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.shipped import mini_split
from curation.store.store import Store
from evaluation.cli.judge import calibrate as command
from evaluation.judge.inputs import answer_inputs, scripts_store, store_answers
from schemas.core.errors import UserError
from schemas.lineage import Lineage
from schemas.ratings import TENDENCY
from tests.support.arithmetic import go
from tests.support.commands import json_value
from tests.support.evaluation.calibrated import study
from tests.support.evaluation.open_answers import open_run, rated, tendency_case
from tests.support.judge import fill_store, rating


def call(store: Path, *args: str):
    return CliRunner().invoke(command, [str(store), *args])


def data(result):
    assert result.exit_code == 0, (result.output, result.exception)
    return json_value(result.stdout)


def test_one_of_two_judges_and_refusals(tmp_path):
    store = tmp_path / "s.duckdb"
    real = study(store)
    with Store.open(store, write=True) as db:
        db.put([rating(item, "completeness", int(v), "judge:y") for item, v in real.items()])
    assert "there are several judges" in str(call(store).exception)
    assert "allowed: judge:x, judge:y" in str(call(store, "--judge", "z").exception)
    assert data(call(store, "--judge", "y", "--json"))["rows"][0]["bias"]["value"] == pytest.approx(0.0)
    assert "no script is of the method 'rme'" in str(call(store, "--judge", "x", "--against", "rme").exception)
    empty = tmp_path / "e.duckdb"
    fill_store(empty, facts=1)
    assert "judge first" in str(call(empty).exception)
    assert call(store, "--help").exit_code == 0


def test_open_answers_are_calibrated_on_their_own_scale(tmp_path):
    """A judge that is too kind by 1 on 1 to 5; people rated every second event of a random sample."""
    store, records, lines = tmp_path / "s.duckdb", [], []
    cases = [tendency_case(n) for n in range(1, 25)]
    question_keys = [c.tendencies[0].key for c in cases]
    run = open_run(
        cases,
        {"none": dict.fromkeys(question_keys, "Prices stay."), "ice": dict.fromkeys(question_keys, "Prices rise.")},
    )
    with Store.open(store, create=True) as db:
        store_answers(run, db)
        for n, ask in enumerate(answer_inputs(db, TENDENCY)):
            value = 1 + n % 3 + (ask.editor == "ice")
            for rater, pair in (("judge:x", value + 1), ("person:ann", value), ("person:bob", value)):
                if rater == "judge:x" or int(ask.case.rpartition("/")[2]) % 2:
                    records += rated(ask.item, {"accuracy": 5, "overall": min(pair, 5)}, rater=rater)
                    stage = "judge" if rater == "judge:x" else "annotation"
                    detail = {"probability": 0.5, "case": ask.case}
                    lines += [Lineage(item_id=r.id, stage=stage, made_at="t", detail=detail) for r in records[-2:]]
        db.put(records, lines)
    report = data(call(store, "--json"))
    assert report["rated_under"] == "tendency" and "the answers" in report["estimand"]
    rows = {(r["editor"], r["aspect"]): r for r in report["rows"]}
    assert set(rows) == {(e, a) for e in ("none", "ice") for a in ("accuracy", "overall")}
    overall = rows["none", "overall"]
    assert overall["bias"]["value"] == pytest.approx(1.0) and 1 <= overall["powered"]["value"] <= 3
    assert overall["powered"]["value"] == pytest.approx(overall["judge"]["value"] - 1, abs=0.2)
    assert "judge first" in str(call(store, "--rubric", "consistency").exception)


def test_text_and_json_are_one_estimate(tmp_path):
    store = tmp_path / "s.duckdb"
    study(store, facts=20)
    text, report = call(store).stdout, data(call(store, "--json"))
    for row in report["rows"]:
        method = f"{row['editor']} ({row['writer']})"
        (line,) = [one for one in text.splitlines() if one.startswith(f"  {method}  ") and row["aspect"] in one]
        assert f"{row['powered']['value']:.2f}" in line and f"{row['bias']['value']:.2f}" in line
        assert line.split()[-2:] == [str(row["labelled"]), str(row["cases"])] and row["needed"] is None


@pytest.mark.parametrize("options", [("--people", "0"), ("--width", "0"), ("--width", "much")])
def test_options_off_their_scale(tmp_path, options):
    assert call(tmp_path / "s.duckdb", *options).exit_code == 2


def test_a_run_folder_stands_for_its_store(tmp_path):
    run = tmp_path / "run"
    go(run, split=mini_split(), metrics=["script_format"], limit=1, kinds=["counterfactual"])
    nobody = call(run)
    assert isinstance(nobody.exception, UserError) and "judge first" in str(nobody.exception)
    assert scripts_store(run).exists()
    missing = call(tmp_path / "none.duckdb")
    assert isinstance(missing.exception, UserError) and "none.duckdb" in str(missing.exception)
