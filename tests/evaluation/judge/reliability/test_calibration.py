"""Estimates of what people would say: which ratings count, and the figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from curation.stats.prediction_powered import Unit, calibrate
from curation.store.store import Store
from evaluation.cli.calibrate import calibrate as command
from schemas.core.errors import UserError
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
    found = data(call(store, "--width", "0.5", "--json"))
    assert found["judge"] == "judge:x" and found["people"] == ["ann", "bob"] and found["left_out"] == {}
    rows = {r["editor"]: r for r in found["rows"]}
    with Store.open(store) as kept:
        from schemas.generated_scripts import GeneratedScript

        by = {s.id: s.editor for s in kept.all(GeneratedScript)}
    for editor, row in rows.items():
        mean = np.mean([v for item, v in real.items() if by[item] == editor])
        assert row["powered"]["value"] == pytest.approx(mean, abs=0.05)
        assert row["judge"]["value"] == pytest.approx(mean + 1) and row["bias"]["value"] == pytest.approx(1.0)
        assert (row["labelled"], row["cases"], row["aspect"]) == (20, 40, "completeness")
        assert row["needed"]["scripts"] is not None
    (gap,) = found["gaps"]
    assert (gap["first"], gap["second"]) == ("ft", "rome") and gap["p"] < 0.01 and gap["difference"]["value"] < -1
    turned = data(call(store, "--against", "ft", "--json"))["gaps"][0]
    assert (turned["first"], turned["second"]) == ("rome", "ft")
    text = call(store, "--width", "0.5").stdout
    assert "not the truth" in text and "for the wanted width" in text and "rome (gpt2-xl) less" not in text


def test_the_figures_are_those_of_the_plain_function(tmp_path):
    store = tmp_path / "s.duckdb"
    real = study(store, facts=30)
    with Store.open(store) as kept:
        from schemas.generated_scripts import GeneratedScript

        scripts = [s for s in kept.all(GeneratedScript) if s.editor == "rome"]
    units = [
        Unit(s.case, real[s.id] + 1, real[s.id] if int(s.case.split("land")[1]) % 2 == 0 else None, 0.5)
        for s in sorted(scripts, key=lambda s: s.id)
    ]
    plain = calibrate(units, scale=(1.0, 7.0))
    row = next(r for r in data(call(store, "--json"))["rows"] if r["editor"] == "rome")
    for name in ("powered", "human", "judge", "bias"):
        one = getattr(plain, name)
        assert (row[name]["value"], row[name]["low"], row[name]["high"]) == pytest.approx(
            (one.value, one.low, one.high)
        )


def test_what_does_not_count_is_counted(tmp_path):
    """Decisions of a lead, ratings without a probability, two probabilities, too few people, unedited Coherence."""
    store = tmp_path / "s.duckdb"
    study(store, facts=20)
    scripts = fill_store(tmp_path / "t.duckdb", facts=20, editors=("ft", "rome"))
    extra, lines = [], []

    def add(item, person, detail, **changes):
        made = rating(item, "completeness", 4, f"person:{person}").model_copy(update=changes)
        extra.append(made)
        lines.append(Lineage(item_id=made.id, stage="annotation", made_at="t", detail=detail))

    add(scripts[0].id, "lead", {"probability": 0.5}, form="rate_script_adjudicated@1", key="rating/adjudicated")
    add(scripts[1].id, "carl", {})
    add(scripts[4].id, "dora", {"probability": 0.9})
    add(scripts[2].id, "erik", {"probability": 0.5})
    with Store.open(store, write=True) as kept:
        kept.put(extra, lines)
    found = data(call(store, "--people", "2", "--json"))
    assert found["left_out"] == {
        "decided by a lead": 1,
        "without a recorded sampling probability": 1,
        "sampled twice with different probabilities": 3,
        "on scripts with fewer than 2 people": 1,
    }


def test_coherence_of_unedited_scripts_is_left_out(tmp_path):
    store = tmp_path / "s.duckdb"
    (script,) = fill_store(store, facts=1, editors=("none",))
    made = [rating(script.id, "coherence", 7, "person:ann"), rating(script.id, "coherence", 1)]
    with Store.open(store, write=True) as kept:
        kept.put(made, [Lineage(item_id=made[0].id, stage="annotation", made_at="t", detail={"probability": 1.0})])
    refused = call(store)
    assert isinstance(refused.exception, UserError) and "rated against the old object" in str(refused.exception)


def test_synthetic_raters_and_too_few_labels_say_so(tmp_path):
    store = tmp_path / "s.duckdb"
    study(store, facts=8, people=("synthetic-1",))
    text = call(store, "--width", "0.5").stdout
    assert "Synthetic raters (synthetic-1) are programs" in text and "undefined" in text
    row = data(call(store, "--json"))["rows"][0]
    assert row["powered"]["reason"] == "people rated 4 cases, fewer than 5" and row["judge"]["value"] is not None


def test_a_judge_of_raw_text_is_not_calibrated_to_ratings_of_parsed_steps(tmp_path):
    """Where both texts are the same nothing is lost; where they differ people and judge read two things."""
    from evaluation.judge.inputs import judge_inputs, rated_scripts
    from evaluation.judge.reliability.calibration import CalibrationRequest, calibrate_judge

    store = tmp_path / "s.duckdb"
    study(store)
    with Store.open(store) as kept:
        asks, given = judge_inputs(kept), rated_scripts(kept)
    raw = [
        g._replace(rating=g.rating.model_copy(update={"form": "judge_completeness_paper@2"})) if g.rater.is_judge else g
        for g in given
    ]
    same = calibrate_judge(raw, asks, CalibrationRequest())
    assert same.left_out == {}
    apart = [a.__class__(**{**vars(a), "text": f"Note.\n{a.text}", "parsed_text": a.text}) for a in asks]
    with pytest.raises(UserError, match="another text than the judge read"):
        calibrate_judge(raw, apart, CalibrationRequest())
    assert calibrate_judge(given, apart, CalibrationRequest()).rows, "an old judge and old people read the same"
