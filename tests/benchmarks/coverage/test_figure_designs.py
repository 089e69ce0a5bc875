"""Designs of the report's own figures: their truth is what very many cases give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage.figure_designs import (
    divergences,
    lost_probability,
    right_answers,
    spearman_of,
    token_losses,
    two_metrics,
)
from evaluation.metrics.pooled import common_questions


@pytest.mark.parametrize(("draw", "truth"), [(right_answers, 0.8), (token_losses, 2.0)])
def test_both_sides_have_the_truth_over_all_questions(draw, truth: float) -> None:
    pairs = common_questions(*draw(np.random.default_rng(4), 6_000)).values()
    first, second, weight = (sum(column) for column in zip(*pairs, strict=True))
    assert first / weight == pytest.approx(truth, rel=0.02) and second / weight == pytest.approx(truth, rel=0.02)


@pytest.mark.parametrize(("rate", "uneven", "truth"), [(0.4, False, 0.2 / 6), (1.0, True, 0.9 / 61 + 0.1 * 5 / 7)])
def test_lost_probability_has_the_truth(rate: float, uneven: bool, truth: float) -> None:
    scores = lost_probability(np.random.default_rng(4), 8_000, rate=rate, uneven=uneven)
    assert np.mean([s.mean for s in scores]) == pytest.approx(truth, rel=0.05)
    assert all(s.mean <= s.largest for s in scores)


def test_log_normal_values_have_one_mean_and_are_skewed() -> None:
    one, two = (list(side.values()) for side in divergences(np.random.default_rng(4), 60_000))
    assert np.mean(one) == pytest.approx(np.mean(two), rel=0.03) and stats.skew(one) > 2
    assert 0.1 < np.corrcoef(one, two)[0, 1] < 0.8


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_metrics_are_correlated_as_named_within_a_method(rho: float) -> None:
    values = two_metrics(np.random.default_rng(4), 20_000, rho=rho, apart=1.0)
    first, second = (list(values[name]["m2"].values()) for name in ("one", "two"))
    assert stats.spearmanr(first, second).statistic == pytest.approx(spearman_of(rho), abs=0.02)
    assert np.mean(first) == pytest.approx(2.0, abs=0.1) and np.mean(second) == pytest.approx(2.0, abs=0.1)
