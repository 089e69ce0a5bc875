"""Designs of means: what is called the truth is the mean of the draws."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage.mean_designs import by_case, crossed_items, linked, mean_rows, rates, ratings
from benchmarks.coverage.rows import LIKERT, cell


@pytest.mark.parametrize(("share", "each", "icc"), [(0.9, 1, 0.0), (0.05, 5, 0.7)])
def test_rates_have_their_mean(share: float, each: int, icc: float) -> None:
    assert rates(share, each, icc)(np.random.default_rng(1), 40_000).mean() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("name", LIKERT)
def test_ratings_have_their_mean(name: str) -> None:
    draw, truth = ratings(name)
    assert draw(np.random.default_rng(1), 40_000).mean() == pytest.approx(truth, abs=0.03)


def test_paired_and_crossed_draws_have_their_truth() -> None:
    rng = np.random.default_rng(2)
    one, two = linked(rng, 8_000, 0.9, 0.8)
    assert np.mean(list(one.values())) - np.mean(list(two.values())) == pytest.approx(0.1, abs=0.01)
    assert np.corrcoef(list(one.values()), list(two.values()))[0, 1] > 0.2
    items = crossed_items(rng, 2_000)
    first, second = (np.mean(list(side.values())) for side in by_case(items))
    assert first == pytest.approx(0.8, abs=0.04) and second == pytest.approx(0.8, abs=0.04)


def test_the_published_interval_covers_too_seldom_for_few_cases() -> None:
    rows = {row.name: row for row in mean_rows()}
    old = cell(rows["rate 0.9, 1 prompt a case: published"], 6, runs=150)
    new = cell(rows["rate 0.9, 1 prompt a case: default"], 6, runs=150)
    assert old.share < 0.65 and new.share > 0.93
