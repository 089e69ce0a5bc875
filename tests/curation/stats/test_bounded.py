"""The default intervals: exact where they can be, inside the scale, and covering at small n (simulated, vectorised)."""

import math

import numpy as np
import pytest
from scipy import stats

from curation.stats.bounded import (
    PairedItem,
    beta_ends,
    bounded_interval,
    clustered_interval,
    crossed_spread,
    difference_interval,
    difference_p,
    difference_reach,
    recurs,
    spread_of,
    student_ends,
)
from curation.stats.intervals import BY_CASE, NO_SPREAD, STUDENT, TWO_WAY


@pytest.mark.parametrize(("hits", "n"), [(0, 6), (6, 6), (5, 6), (1, 12), (12, 12), (33, 40), (7, 8)])
def test_one_yes_or_no_a_case_gives_the_exact_interval(hits: int, n: int) -> None:
    found = bounded_interval([1.0] * hits + [0.0] * (n - hits))
    exact = stats.binomtest(hits, n).proportion_ci()
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert found.kind == BY_CASE and found.mean == pytest.approx(hits / n)


def test_the_published_width_is_still_there_and_can_leave_the_scale() -> None:
    values = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    found = bounded_interval(values)
    assert found.half == pytest.approx(1.96 * np.std(values, ddof=1) / math.sqrt(6))
    assert found.published.high > 1 >= found.high and found.published.half == found.half
    assert found.published.ends is None


@pytest.mark.parametrize("value", [0.0, 0.4, 1.0, 1 / 3])
def test_all_agree_is_no_certainty(value: float) -> None:
    """0.1 added up thrice is not 0.3: noise of additions is no spread either."""
    noisy = [value + k * 1e-16 for k in (0, 1, -1, 0, 2, 0)]
    found = bounded_interval([min(max(v, 0.0), 1.0) for v in noisy])
    assert found.low <= value <= found.high and found.high - found.low > 0.3
    assert found.low >= 0 and found.high <= 1


def test_ratings_stay_on_their_scale() -> None:
    found = bounded_interval([7.0] * 11 + [6.0], (1.0, 7.0))
    assert found.high == pytest.approx(7.0, abs=0.01) and 5.5 < found.low < 6.9
    assert found.mean - found.low > found.high - found.mean
    everyone = bounded_interval([7.0] * 12, (1.0, 7.0))
    assert everyone.low == pytest.approx(1 + 6 * 0.025 ** (1 / 12)) and everyone.high == 7.0


def test_values_off_the_scale_and_without_one_get_student() -> None:
    values = [2.0, 3.0, 5.0, 9.0]
    half = stats.t.ppf(0.975, 3) * np.std(values, ddof=1) / 2
    for scale in (None, (0.0, 1.0)):
        found = bounded_interval(values, scale)
        assert (found.low, found.high, found.kind) == (pytest.approx(4.75 - half), pytest.approx(4.75 + half), STUDENT)
    flat = bounded_interval([3.0, 3.0, 3.0], None)
    assert (flat.low, flat.high, flat.kind, flat.half) == (None, None, NO_SPREAD, 0.0)


@pytest.mark.parametrize("values", [[], [0.5]])
def test_a_single_case_has_no_interval(values: list[float]) -> None:
    found = bounded_interval(values)
    assert found.low is found.high is None and found.n == len(values)
    assert beta_ends(spread_of([0.5])) is student_ends(spread_of([0.5])) is None


def test_recurring_neighbours_decide_the_kind() -> None:
    values, cases = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b", "c", "c"]
    crossed = clustered_interval(values, cases, ["x", "y", "x", "y", "x", "z"])
    alone = clustered_interval(values, cases, list("uvwxyz"))
    assert crossed.kind == TWO_WAY and alone.kind == BY_CASE
    assert crossed.high - crossed.low > alone.high - alone.low
    assert alone[:2] == crossed[:2] == bounded_interval([0.5, 0.5, 1.0])[:2]
    assert clustered_interval(values, cases, ["x", None] * 3).kind == BY_CASE
    assert clustered_interval(values, cases).kind == BY_CASE
    assert not recurs(["a", "a"], ["x", "x"])


def test_two_way_variance_is_no_less_than_either_alone() -> None:
    """By hand: means .5; by neighbour x: +.25 twice, y: -.25 twice: V = 2 * (.5)^2 * 2; by case: nothing."""
    found = crossed_spread([1.0, 0.0, 1.0, 0.0], ["a", "a", "b", "b"], ["x", "y", "x", "y"])
    assert (found.mean, found.units, found.crossed) == (0.5, 2, True)
    one = 2 * 0.25**2 * 2
    assert found.variance == pytest.approx(max(one, one + 0 - 4 * (0.125**2) * 4 / 3))


def test_differences_stay_inside_and_are_never_certain() -> None:
    ones, zeros = ({str(k): v for k in range(6)} for v in (1.0, 0.0))
    up, same = difference_interval(ones, zeros), difference_interval(ones, ones)
    assert up.high == 1.0 and 0 < up.low < 0.6
    assert (same.mean, same.half) == (0.0, 0.0)
    assert same.low == pytest.approx(-(1 - 0.025 ** (1 / 6))) and same.high == -same.low
    swapped = difference_interval(zeros, ones)
    assert (swapped.low, swapped.high) == pytest.approx((-up.high, -up.low))
    assert difference_interval({"a": 1.0}, {"a": 0.0}).low is None
    assert difference_interval({"a": 1.0}, {"b": 0.0}).mean is None


def test_what_the_cases_share_narrows_a_difference() -> None:
    rng = np.random.default_rng(5)
    hard = rng.uniform(0.2, 0.8, 40)
    first = {str(k): float(v + 0.1) for k, v in enumerate(hard)}
    second = {str(k): float(v) for k, v in enumerate(hard)}
    other = {str(k): float(v) for k, v in enumerate(rng.permutation(hard))}
    paired, apart = difference_interval(first, second), difference_interval(first, other)
    assert paired.high - paired.low < 0.5 * (apart.high - apart.low)


def test_a_difference_over_recurring_neighbours_is_two_way() -> None:
    cases, near = [str(k) for k in range(12) for _ in range(2)], ["x", "y"] * 12
    first = [1.0 if n == "x" else 0.0 for n in near]
    items = [PairedItem(c, n, v, 0.0) for c, n, v in zip(cases, near, first, strict=True)]
    means = dict.fromkeys(cases, 0.5)
    zeros = dict.fromkeys(cases, 0.0)
    crossed = difference_interval(means, zeros, items=items)
    alone = difference_interval(means, zeros)
    assert crossed.kind == TWO_WAY and alone.kind == BY_CASE
    assert crossed.low < 0 < alone.low  # two neighbours decide everything: nothing is known of others


def simulated(rng: np.random.Generator, runs: int, n: int, share: float, each: int, icc: float) -> list[list[float]]:
    chance = (
        np.full((runs, n), share)
        if icc == 0
        else rng.beta(share * (1 / icc - 1), (1 - share) * (1 / icc - 1), (runs, n))
    )
    return (rng.binomial(each, chance) / each).tolist()


@pytest.mark.parametrize("n", [6, 12, 20])
def test_coverage_of_rates(n: int) -> None:
    """At least 93 % from 6 cases on, for clustered prompts too (300 runs each; three standard errors allowed)."""
    rng = np.random.default_rng(n)
    for share in (0.05, 0.5, 0.95):
        for each, icc in ((1, 0.0), (5, 0.5)):
            found = [bounded_interval(v) for v in simulated(rng, 150, n, share, each, icc)]
            covered = np.mean([f.low - 1e-9 <= share <= f.high + 1e-9 for f in found])
            assert covered >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / 150), (share, each, icc)


def test_p_of_a_difference_is_where_its_interval_begins_to_hold_zero() -> None:
    """Against the interval itself: it excludes 0 at 95 % exactly where p is below 0.05."""
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(60):
        n = int(rng.integers(5, 25))
        one, two = ({str(k): float(rng.binomial(4, p) / 4) for k in range(n)} for p in (0.8, 0.45))
        found, p = difference_interval(one, two), difference_p(one, two)
        outside = found.low > 1e-9 or found.high < -1e-9
        assert (p < 0.05) == outside
        seen.add(outside)
        reach = difference_reach(one, two, 0.05)
        if found.high < 1 and found.low > -1:
            assert reach == pytest.approx(max(found.mean - found.low, found.high - found.mean))
    assert seen == {True, False}


def test_p_of_a_difference_where_there_is_none() -> None:
    same = {"a": 0.5, "b": 0.25, "c": 1.0}
    assert difference_p(same, same) == 1.0
    assert difference_p({"a": 1.0}, {"a": 0.0}) is None and difference_reach({"a": 1.0}, {"a": 0.0}, 0.05) is None
    assert difference_p({"a": 2.0, "b": 1.0}, {"a": 0.0, "b": 1.0}) is None, "off the scale"
    crossed = [PairedItem(c, n, 1.0, 0.0) for c in "abc" for n in "xy"]
    ones, noughts = (dict.fromkeys("abc", v) for v in (1.0, 0.0))
    assert difference_p(ones, noughts, items=crossed) > difference_p(ones, noughts), "two neighbours are two units"
