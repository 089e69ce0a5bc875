"""Collapse is ten times the perplexity of before."""

from __future__ import annotations

import math

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.token_level import TEXT
from schemas.answers import Answer, TargetScore
from tests.support.arithmetic import make_case


@pytest.mark.parametrize(("now", "value"), [(29.0, 0.0), (31.0, 1.0)])
def test_collapse_is_ten_times_the_perplexity(now: float, value: float) -> None:
    """Ten tokens of perplexity 3 before; 29 after is no collapse, 31 is."""
    metric, case = METRICS.get("collapse")(), make_case("Peru")
    (probe,) = metric.probes(case)

    def answer(perplexity: float) -> dict[str, Answer]:
        score = TargetScore(text=TEXT, logprob=-10 * math.log(perplexity), tokens=10)
        return {probe.id: Answer(probe=probe.id, targets=(score,))}

    assert metric.score(case, answer(now), answer(3.0), "sum").mean == value
    assert metric.score(case, answer(now), {}, "mean").items[0].reason == "before the edit: no answer"
