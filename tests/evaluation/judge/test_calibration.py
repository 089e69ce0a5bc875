from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from curation.store.store import Store
from evaluation.cli.judge import calibrate as command
from evaluation.judge.inputs import answer_inputs, scripts_store, store_answers
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage
from schemas.ratings import TENDENCY
from tests.support.arithmetic import go
from tests.support.evaluation.calibrated import study
from tests.support.evaluation.open_answers import open_run, rated, tendency_case
from tests.support.judge import fill_store, rating
from tests.support.small import small_split


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


def call(store: Path, *args: str):
    return CliRunner().invoke(command, [str(store), *args])


def data(result):
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_a_kind_judge_is_put_right(store):
    real = study(store)
    report = data(call(store, "--width", "0.5", "--json"))
    assert report["judge"] == "judge:x" and report["people"] == ["ann", "bob"] and report["left_out"] == {}
    rows = {r["editor"]: r for r in report["rows"]}
    with Store.open(store) as db:
        by = {s.id: s.editor for s in db.all(GeneratedScript)}
    for editor, row in rows.items():
        mean = np.mean([v for item, v in real.items() if by[item] == editor])
        assert row["powered"]["value"] == pytest.approx(mean, abs=0.05)
        assert row["judge"]["value"] == pytest.approx(mean + 1) and row["bias"]["value"] == pytest.approx(1.0)
        assert (row["labelled"], row["cases"], row["aspect"]) == (20, 40, "completeness")
        assert row["needed"]["scripts"] is not None
    (gap,) = report["gaps"]
    assert (gap["first"], gap["second"]) == ("ft", "rome") and gap["p"] < 0.01 and gap["difference"]["value"] < -1
    inverse = data(call(store, "--against", "ft", "--json"))["gaps"][0]
    assert (inverse["first"], inverse["second"]) == ("rome", "ft")
    text = call(store, "--width", "0.5").stdout
    assert "not the truth" in text and "for the wanted width" in text and "rome (gpt2-xl) -" not in text


def test_what_does_not_count_is_counted(tmp_path, store):
    """Decisions of a lead, ratings without a probability, two probabilities, too few people, unedited Coherence."""
    study(store, facts=20)
    scripts = fill_store(tmp_path / "t.duckdb", facts=20, editors=("ft", "rome"))
    extra, lines = [], []

    def add(item, person, detail, **changes):
        score = rating(item, "completeness", 4, f"person:{person}").model_copy(update=changes)
        extra.append(score)
        lines.append(Lineage(item_id=score.id, stage="annotation", made_at="t", detail=detail))

    add(scripts[0].id, "lead", {"probability": 0.5}, form="rate_script_adjudicated@1", key="rating/adjudicated")
    add(scripts[1].id, "carl", {})
    add(scripts[4].id, "dora", {"probability": 0.9})
    add(scripts[2].id, "erik", {"probability": 0.5})
    with Store.open(store, write=True) as db:
        db.put(extra, lines)
    report = data(call(store, "--people", "2", "--json"))
    assert report["left_out"] == {
        "decided by a lead": 1,
        "without a recorded sampling probability": 1,
        "sampled twice with different probabilities": 3,
        "on scripts with fewer than 2 people": 1,
    }


def test_synthetic_raters_and_too_few_labels_say_so(store):
    study(store, facts=8, people=("synthetic-1",))
    text = call(store, "--width", "0.5").stdout
    assert "Synthetic raters (synthetic-1) are programs" in text and "Without a calibrated figure" in text
    row = data(call(store, "--json"))["rows"][0]
    assert row["powered"]["reason"] == "people rated 4 cases, fewer than 5" and row["judge"]["value"] is not None


def _methods(store: Path, methods: dict[str, str]) -> None:
    """Store the methods behind labels, as ``results extract-scripts`` does."""
    with Store.open(store, write=True) as kept:
        texts = [s for s in kept.all(GeneratedScript) if s.editor in methods]
        kept.put(texts, [
            Lineage(item_id=s.id, stage="generate", made_at="t", detail={"method": methods[s.editor]}) for s in texts
        ])  # fmt: skip


def test_a_control_method_under_another_label_is_no_rival_where_its_method_is_stored(store):
    study(store, facts=12, editors=("none", "lift", "push"))
    among = [g for g in data(call(store, "--json"))["gaps"] if g["family"] == "among"]
    assert [(g["first"], g["second"]) for g in among] == [("lift", "push")]
    _methods(store, {"none": "none", "lift": "boost", "push": "rome"})
    informed = data(call(store, "--json"))
    assert {g["family"] for g in informed["gaps"]} == {"against", "control"}


def test_an_editor_that_only_bears_the_name_of_a_control_method_is_a_rival(store):
    study(store, facts=12, editors=("none", "boost", "push"))
    assert {g["family"] for g in data(call(store, "--json"))["gaps"]} == {"against", "control"}
    _methods(store, {"none": "none", "boost": "memit", "push": "rome"})
    assert "among" in {g["family"] for g in data(call(store, "--json"))["gaps"]}


EDITORS = ("boost", "ft", "none", "rome")


def gaps(store: Path, *more: str) -> dict[str, list[tuple[str, str]]]:
    result = CliRunner().invoke(command, [str(store), "--json", *more])
    assert result.exit_code == 0, result.output
    out: dict[str, list[tuple[str, str]]] = {"among": [], "against": [], "control": []}
    for gap in json.loads(result.stdout)["gaps"]:
        out[gap["family"]].append((gap["first"], gap["second"]))
    return out


def test_control_methods_are_no_rivals(store: Path) -> None:
    """They stood in one family with the methods: "boost less rome" was compared, and Holm was stricter for all."""
    study(store, facts=12, editors=EDITORS)
    assert gaps(store) == {
        "among": [("ft", "rome")],
        "against": [("ft", "none"), ("rome", "none")],
        "control": [("boost", "none")],
    }
    rome = {"among": [("ft", "rome")], "against": [("rome", "none")], "control": []}
    assert gaps(store, "--against", "rome") == rome, "against rome: each less rome"
    assert gaps(store, "--against", "boost") == {"among": [], "against": [], "control": [("boost", "none")]}
    text = CliRunner().invoke(command, [str(store)]).stdout
    pairs, plain, controls = re.split("(?:M|Control m)ethods less no edit", text)
    assert "ft (gpt2-xl) - rome" in pairs and "boost" not in pairs.split("Differences between methods")[1]
    assert "boost (gpt2-xl) - none (gpt2-xl)" in controls and "boost" not in plain


def test_one_of_two_judges_and_refusals(tmp_path, store):
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


def test_text_and_json_are_one_estimate(store):
    study(store, facts=20)
    text, report = call(store).stdout, data(call(store, "--json"))
    for row in report["rows"]:
        method = f"{row['editor']} ({row['writer']})"
        (line,) = [one for one in text.splitlines() if one.startswith(f"  {method}  ") and row["aspect"] in one]
        assert f"{row['powered']['value']:.2f}" in line and f"{row['bias']['value']:.2f}" in line
        assert line.split()[-2:] == [str(row["labelled"]), str(row["cases"])] and row["needed"] is None


def test_a_run_folder_stands_for_its_store(tmp_path):
    run = tmp_path / "run"
    go(run, split=small_split(), metrics=["script_format"], limit=1, kinds=["counterfactual"])
    nobody = call(run)
    assert isinstance(nobody.exception, UserError) and "judge first" in str(nobody.exception)
    assert scripts_store(run).exists()
    missing = call(tmp_path / "none.duckdb")
    assert isinstance(missing.exception, UserError) and "none.duckdb" in str(missing.exception)
