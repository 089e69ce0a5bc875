from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from curation.store.store import Store
from evaluation.cli.judge import calibrate as command
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage
from tests.support.evaluation.calibrated import study
from tests.support.judge import fill_store, rating


def call(store: Path, *args: str):
    return CliRunner().invoke(command, [str(store), *args])


def data(result):
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_a_kind_judge_is_put_right(tmp_path):
    store = tmp_path / "s.duckdb"
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


def test_what_does_not_count_is_counted(tmp_path):
    """Decisions of a lead, ratings without a probability, two probabilities, too few people, unedited Coherence."""
    store = tmp_path / "s.duckdb"
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


def test_synthetic_raters_and_too_few_labels_say_so(tmp_path):
    store = tmp_path / "s.duckdb"
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


def test_a_null_method_under_another_label_is_no_rival_where_its_method_is_on_record(tmp_path):
    store = tmp_path / "s.duckdb"
    study(store, facts=12, editors=("none", "lift", "push"))
    among = [g for g in data(call(store, "--json"))["gaps"] if g["family"] == "among"]
    assert [(g["first"], g["second"]) for g in among] == [("lift", "push")]
    _methods(store, {"none": "none", "lift": "boost", "push": "rome"})
    informed = data(call(store, "--json"))
    assert {g["family"] for g in informed["gaps"]} == {"against", "null"}


def test_an_editor_that_only_bears_the_name_of_a_null_method_is_a_rival(tmp_path):
    store = tmp_path / "s.duckdb"
    study(store, facts=12, editors=("none", "boost", "push"))
    assert {g["family"] for g in data(call(store, "--json"))["gaps"]} == {"against", "null"}
    _methods(store, {"none": "none", "boost": "memit", "push": "rome"})
    assert "among" in {g["family"] for g in data(call(store, "--json"))["gaps"]}


EDITORS = ("boost", "ft", "none", "rome")


def gaps(store: Path, *more: str) -> dict[str, list[tuple[str, str]]]:
    result = CliRunner().invoke(command, [str(store), "--json", *more])
    assert result.exit_code == 0, result.output
    out: dict[str, list[tuple[str, str]]] = {"among": [], "against": [], "null": []}
    for gap in json.loads(result.stdout)["gaps"]:
        out[gap["family"]].append((gap["first"], gap["second"]))
    return out


def test_null_methods_are_no_rivals(tmp_path: Path) -> None:
    """They stood in one family with the methods: "boost less rome" was compared, and Holm was stricter for all."""
    store = tmp_path / "s.duckdb"
    study(store, facts=12, editors=EDITORS)
    assert gaps(store) == {
        "among": [("ft", "rome")],
        "against": [("ft", "none"), ("rome", "none")],
        "null": [("boost", "none")],
    }
    rome = {"among": [("ft", "rome")], "against": [("rome", "none")], "null": []}
    assert gaps(store, "--against", "rome") == rome, "against rome: each less rome"
    assert gaps(store, "--against", "boost") == {"among": [], "against": [], "null": [("boost", "none")]}
    text = CliRunner().invoke(command, [str(store)]).stdout
    pairs, plain, controls = re.split("(?:M|Null m)ethods less no edit", text)
    assert "ft (gpt2-xl) - rome" in pairs and "boost" not in pairs.split("Differences between methods")[1]
    assert "boost (gpt2-xl) - none (gpt2-xl)" in controls and "boost" not in plain
