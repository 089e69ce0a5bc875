"""Exact intervals of a share."""

import numpy as np
import pytest
from scipy import stats

from curation.stats.intervals import binomial_interval, end_with_unseen_case, wilson_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (1, 7), (50, 100), (1829, 1830)])
def test_binomial_interval_is_that_of_scipy(hits, n):
    estimate, reference = binomial_interval(hits, n), stats.binomtest(hits, n).proportion_ci(0.95, "exact")
    assert (estimate.low, estimate.high) == pytest.approx((reference.low, reference.high), abs=1e-12)


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
    estimate, reference = wilson_interval(hits, n), stats.binomtest(hits, n).proportion_ci(0.95, "wilson")
    assert (estimate.low, estimate.high) == pytest.approx((reference.low, reference.high), abs=1e-12)
    assert estimate.value == hits / n and estimate.low <= estimate.value <= estimate.high


def test_wilson_interval_without_outcomes_and_with_impossible_ones():
    assert not wilson_interval(0, 0).defined
    with pytest.raises(ValueError, match="4 hits of 3"):
        wilson_interval(4, 3)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (1, 7), (50, 100)])
def test_one_more_case_at_the_end_gives_the_exact_ends_of_yes_and_no(hits, n):
    found, share = binomial_interval(hits, n), hits / n
    ends = [end_with_unseen_case(share, share * (1 - share) / (n - 1), n, end, 0.025) for end in (0, 1)]
    assert ends == pytest.approx([found.low, found.high], abs=1e-9)


def test_values_that_agree_leave_room_for_one_that_does_not():
    """Against draws of the weights themselves (spacings of uniform numbers: Dirichlet): nine of 0.8, one at 0."""
    weights = np.random.default_rng(0).dirichlet(np.ones(10), 200_000)
    drawn = np.quantile(0.8 * weights[:, :9].sum(axis=1), 0.05)
    assert end_with_unseen_case(0.8, 0.0, 9, 0, 0.05) == pytest.approx(drawn, abs=0.03)
    assert end_with_unseen_case(0.0, 0.0, 9, 0, 0.05) == 0.0
