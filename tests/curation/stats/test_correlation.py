from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from curation.stats.bootstrap import Resampling
from curation.stats.correlation import (
    FEW_DIFFER,
    ceiling,
    kendall,
    mean_correlation,
    spearman,
    weighted_correlations,
)
from tests.support.stats.rating_tables import NAMES, NONE, table

UNSAMPLED = Resampling(0)
RNG = np.random.default_rng(11)
LIKERT = (RNG.integers(1, 8, 60).astype(float), RNG.integers(1, 8, 60).astype(float))
LINKED = (LIKERT[0], np.clip(LIKERT[0] + RNG.integers(-2, 3, 60), 1, 7))
CONTINUOUS = (RNG.normal(size=70), RNG.normal(size=70))
OURS = {"spearman": spearman, "kendall": kendall}
THEIRS = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@pytest.mark.parametrize("data", [LIKERT, LINKED, CONTINUOUS], ids=["ties", "linked", "continuous"])
def test_values_are_those_of_scipy(kind, data):
    assert OURS[kind](*data, resampling=UNSAMPLED).value == pytest.approx(THEIRS[kind](*data).statistic)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_a_resample_with_a_constant_side_is_undefined(kind):
    x, y = np.array([1.0, 1.0, 2.0]), np.array([3.0, 2.0, 2.0])
    assert np.isnan(weighted_correlations(kind, x, y, np.array([[2.0, 1.0, 0.0]])))[0]


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_permutation_p_is_near_the_exact_one(kind):
    x, y = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]
    every = [abs(THEIRS[kind](x, p).statistic) for p in itertools.permutations(y)]
    exact = np.mean(np.array(every) >= abs(THEIRS[kind](x, y).statistic) - 1e-9)
    assert OURS[kind](x, y, resampling=Resampling(3000)).p == pytest.approx(exact, abs=0.012)


def test_the_test_exchanges_whole_cases():
    """Six rows of two cases are two cases: p cannot be small, however many rows there are."""
    x, y = [1, 1, 1, 2, 2, 2], [3, 3, 3, 4, 4, 4]
    assert spearman(x, y, ["a"] * 3 + ["b"] * 3, resampling=Resampling(500)).p == pytest.approx(1.0)
    assert spearman(x, y, resampling=Resampling(500)).p < 0.25


def test_cases_of_different_sizes_have_no_p():
    estimate = spearman([1, 2, 3], [1, 3, 2], ["a", "b", "b"])
    assert estimate.p is None
    assert "no two cases" in estimate.note


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], "fewer than two"),
        ([1], [1], "fewer than two"),
        ([7, 7, 7], [1, 2, 3], "x are equal (7)"),
        ([1, 2, 3], [0, 0, 0], "y are equal (0)"),
    ],
)
def test_undefined_says_why(x, y, reason):
    for estimate in (spearman(x, y), kendall(x, y)):
        assert estimate.value is None
        assert reason in estimate.reason


@pytest.mark.parametrize(
    ("x", "y", "cases"), [([1], [1, 2], None), ([1, float("nan")], [1, 2], None), ([1, 2], [1, 2], ["a"])]
)
def test_faulty_input_is_refused(x, y, cases):
    with pytest.raises(ValueError):
        spearman(x, y, cases)


def test_the_null_of_a_zero_coefficient_goes_with_the_interval():
    """Two places in every case differ alike in x and y: rho is high, and exchanging cases keeps all of it."""
    rng = np.random.default_rng(2)
    cases = [str(k) for k in range(30) for _ in range(2)]
    x = np.tile([0.0, 5.0], 30) + rng.normal(size=60)
    y = np.tile([0.0, 5.0], 30) + rng.normal(size=60)
    other = spearman(x, y, cases, resampling=Resampling(200))
    estimate = spearman(x, y, cases, resampling=Resampling(200), null="zero")
    assert estimate.low > 0.5 and estimate.p < 1e-4 and other.p > 0.05
    assert (estimate.value, estimate.low, estimate.high) == (other.value, other.low, other.high)
    assert spearman(x, y, cases, resampling=Resampling(0), null="zero").p is None
    rates = [spearman(*rng.normal(size=(2, 20)), resampling=Resampling(100), null="zero").p < 0.05 for _ in range(150)]
    assert np.mean(rates) < 0.12


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_too_few_cases_off_the_commonest_value_have_no_interval(kind):
    """Two cases that differ, though by eight scripts; a third one makes the interval."""
    cases = [f"c{k // 4}" for k in range(80)]
    y = [7.0] * 80
    y[0:4], y[20:24] = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 5.0, 6.0]
    x = [float(k % 7) for k in range(80)]
    for pair, side in (((x, y), "y"), ((y, x), "x")):
        result = OURS[kind](*pair, cases, resampling=Resampling(200))
        assert (result.low, result.high) == (None, None)
        assert result.value is not None and result.p is not None
        assert result.note == f"in all but 2 cases the values of {side} are 7"
    assert spearman(x, y, cases, resampling=Resampling(200), null="zero").p is None, "of zero, none without an interval"
    y[40] = 6.0
    result = OURS[kind](x, y, cases, resampling=Resampling(200))
    assert result.low is not None
    assert OURS[kind](x[:4], [1.0, 1.0, 1.0, 2.0], resampling=UNSAMPLED).note == "no resampling was asked for"


GAP = math.nan


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1, 1, 3], [2, 2, 2], [3, 3, 1]], -1 / 3),  # 1, -1, -1
        ([[1, 1, 5], [2, 2, 5], [3, 3, 5]], 1.0),  # whoever never varies counts in no pair
        ([[1, 2], [2, 3]], GAP),  # two units are too few
        ([[1, 2], [2, GAP], [3, 4], [4, GAP]], GAP),  # two in common
        ([[1], [2], [3]], GAP),
    ],
)
def test_pairs_that_have_a_correlation(values: list[list[float]], expected: float) -> None:
    assert mean_correlation(np.array(values, dtype=float)) == pytest.approx(expected, nan_ok=True)


def test_more_people_raise_the_ceiling() -> None:
    ratings = table([[1, 2, 3, 4, 5], [1, 3, 2, 5, 4]])  # they correlate with 0.8
    values = [ceiling(ratings, k=k, resampling=NONE).value for k in (1, 2, 3)]
    assert values == pytest.approx([math.sqrt(0.8), math.sqrt(1.6 / 1.8), math.sqrt(2.4 / 2.6)])
    assert ceiling(ratings, resampling=NONE).value == pytest.approx(values[1]), "all of the table where k is left out"


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (NAMES, "names, not numbers"),
        ([[1, 2, 3]], "there is one rater"),
        ([[1, 2, None], [1, 2, 3]], "no two raters share three units on which both vary"),
        ([[4, 4, 4], [1, 2, 3]], "no two raters share three units on which both vary"),
        ([[1, 2, 3], [3, 2, 1]], "is -1.000, not above 0"),
    ],
)
def test_an_undefined_ceiling_says_why(columns: list[list[object]], reason: str) -> None:
    estimate = ceiling(table(columns), resampling=NONE)
    assert estimate.value is None and reason in estimate.reason


def test_raters_who_agree_up_to_rounding_leave_no_interval_without_width() -> None:
    """Resamples at 1 and at 1 - 2e-16 made "1.00 [1.00, 1.00]"."""
    rng = np.random.default_rng(2)
    ratings = [float(v) for v in rng.integers(1, 8, 16)]
    estimate = ceiling(table([ratings, ratings]), resampling=Resampling(300))
    assert estimate.value == pytest.approx(1.0) and (estimate.low, estimate.high) == (None, None)
    assert estimate.note


def test_the_interval_stays_on_the_scale_and_holds_the_value() -> None:
    rng = np.random.default_rng(6)
    quality = rng.normal(size=12)
    ratings = table([np.clip(np.round(4 + quality + rng.normal(size=12)), 1, 7).tolist() for _ in range(3)])
    estimate = ceiling(ratings, resampling=Resampling(300))
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1 and "mean correlation" in estimate.note


def test_where_most_ratings_are_equal_the_note_says_so() -> None:
    column = [7.0] * 14 + [1, 2, 3, 4, 5, 6]
    other = [7.0] * 14 + [2, 1, 4, 3, 6, 5]
    assert ceiling(table([column, other]), resampling=Resampling(300)).note == FEW_DIFFER
