"""How many cases a difference needs: pairs of a run, the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from curation.stats.paired import cases_needed, smallest_detectable
from evaluation.analysis.sample_size import sample_sizes
from evaluation.cli.results import cases
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import Scores
from evaluation.runs.results import load_run
from schemas.answers import CaseScores, ItemScore
from schemas.core.errors import UserError
from tests.support.arithmetic import ArithmeticLM, go


@pytest.mark.parametrize("difference", [0.05, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("family", [1, 6])
def test_the_fewest_cases_that_suffice(difference: float, family: int) -> None:
    n = cases_needed(difference, sd=0.4, family=family)
    assert smallest_detectable(sd=0.4, n=n, family=family) <= difference
    assert n == 2 or smallest_detectable(sd=0.4, n=n - 1, family=family) > difference


def call(*words: object) -> Result:
    return CliRunner().invoke(cases, [str(word) for word in words], catch_exceptions=False)


def scores_of(values: dict[str, list[float]]) -> Scores:
    def one(case: str, value: float) -> CaseScores:
        return CaseScores(metric="s_es", case=case, items=(ItemScore(probe=case, item=case, value=value),))

    return Scores({k: {"s_es": {f"c{n}": one(f"c{n}", v) for n, v in enumerate(vs)}} for k, vs in values.items()})


def test_the_median_pair_and_the_widest(tmp_path: Path) -> None:
    go(tmp_path, editors=["push", {"name": "push", "label": "b"}, {"name": "push", "label": "c"}], metrics=["s_es"])
    run = load_run(tmp_path)
    values = {"none": [0, 0, 0, 0, 0], "push": [0, 1, 0, 1, 1], "b": [0, 1, 0, 1, 1], "c": [1, 0, 1, 1, 1]}

    def sizes(some: dict[str, list[float]]) -> list[dict[str, Any]]:
        return sample_sizes(run, scores_of(some), load_metrics(["s_es"]), differences=[0.1], power=0.8, family=1)

    (found,) = sizes(values)
    sd = float(np.std([-1, 1, -1, 0, 0], ddof=1))
    needed = {"10": (cases_needed(0.1, sd=sd),) * 2}
    agreeing = {"cases": 5, "pairs": 2, "sd": (sd, sd)}  # push and b agree everywhere, none is a control
    assert found == {"metric": "s_es", **agreeing, "needed": needed}
    assert sizes({label: column[:4] for label, column in values.items()}) == [], "four cases say next to nothing"


def test_the_command(tmp_path: Path) -> None:
    editors = ["push", {"name": "push", "label": "weak", "params": {"strength": 0.2}}]
    go(tmp_path, editors=editors, metrics=["es", "s_es"])
    shown = call(tmp_path, "--points", "10").stdout
    assert "S-ES" in shown and "10 points" in shown and "80 % power" in shown
    for row in map(json.loads, call(tmp_path, "--jsonl").stdout.splitlines()):
        assert list(row["needed"]) == ["2", "5", "10"]
        few = [row["needed"][gap][0] for gap in row["needed"]]
        assert few == sorted(few, reverse=True) and row["cases"] > 1


def test_a_run_of_one_method_has_no_answer(tmp_path: Path) -> None:
    go(tmp_path, metrics=["es"])
    with pytest.raises(UserError, match="no two methods of this run differ on 5 common cases"):
        call(tmp_path)


def test_rows_in_different_forms_make_no_pair(tmp_path: Path) -> None:
    editors = ["push", {"name": "push", "label": "weak", "params": {"strength": 0.2}}]
    go(tmp_path, editors=editors, metrics=["es"], chat="auto", lm=ArithmeticLM(has_chat=True))
    (row,) = map(json.loads, call(tmp_path, "--jsonl").stdout.splitlines())
    assert row["pairs"] == 2, "raw with raw, chat with chat"


def test_metrics_without_an_answer_are_named(tmp_path: Path) -> None:
    editors = ["push", {"name": "push", "label": "weak", "params": {"strength": 0.2}}]
    go(tmp_path, editors=editors, metrics=["es", "ns_kl"])
    assert "Left out: " in call(tmp_path).stdout
    with pytest.raises(UserError, match="none of the metrics is a mean of shares over cases: ns_kl; give"):
        call(tmp_path, "--metrics", "ns_kl")
