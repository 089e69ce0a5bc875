"""Exact intervals of a share."""

import numpy as np
import pytest
from scipy import stats

from curation.stats.proportions import binomial_interval, wilson_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (1, 7), (50, 100), (1829, 1830)])
def test_binomial_interval_is_that_of_scipy(hits, n):
    found, theirs = binomial_interval(hits, n), stats.binomtest(hits, n).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_binomial_interval_covers_at_every_rate():
    n = 12
    intervals = [binomial_interval(k, n) for k in range(n + 1)]
    for rate in np.linspace(0.01, 0.99, 99):
        chance = sum(stats.binom.pmf(k, n, rate) for k, i in enumerate(intervals) if i.low <= rate <= i.high)
        assert chance >= 0.95 - 1e-9


def test_binomial_refuses_more_hits_than_tries():
    with pytest.raises(ValueError, match="3 hits of 2"):
        binomial_interval(3, 2)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (1, 3), (30, 36), (117, 120), (499, 1000)])
def test_wilson_interval_is_that_of_scipy(hits, n):
    found, theirs = wilson_interval(hits, n), stats.binomtest(hits, n).proportion_ci(0.95, "wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert found.value == hits / n and found.low <= found.value <= found.high


def test_wilson_interval_without_outcomes_and_with_impossible_ones():
    assert not wilson_interval(0, 0).defined
    with pytest.raises(ValueError, match="4 hits of 3"):
        wilson_interval(4, 3)
