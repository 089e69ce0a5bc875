"""How reliable the mean of several people is, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from curation.stats.bootstrap import Resampling, draw_counts
from curation.stats.correlation import (
    FEW_DIFFER,
    _resampled_correlations,
    ceiling,
    mean_correlation,
    spearman_brown,
    width_with_more,
)
from curation.stats.estimates import Estimate
from curation.stats.rating_table import RatingTable
from tests.support.stats.rating_tables import NAMES, NONE, table

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


@pytest.mark.parametrize(("r", "k", "expected"), [(0.5, 1, 0.5), (0.5, 2, 2 / 3), (0.0, 9, 0.0), (1.0, 3, 1.0)])
def test_spearman_brown(r: float, k: int, expected: float) -> None:
    assert spearman_brown(r, k) == pytest.approx(expected)


def test_more_people_raise_the_ceiling() -> None:
    ratings = table([[1, 2, 3, 4, 5], [1, 3, 2, 5, 4]])  # they correlate with 0.8
    values = [ceiling(ratings, k=k, resampling=NONE).value for k in (1, 2, 3)]
    assert values == pytest.approx([math.sqrt(0.8), math.sqrt(1.6 / 1.8), math.sqrt(2.4 / 2.6)])
    assert ceiling(ratings, resampling=NONE).value == pytest.approx(values[1]), "all of the table where k is left out"


def test_people_of_one_mind_leave_nothing_open() -> None:
    estimate = ceiling(table([[1, 2, 3, 4]] * 2), resampling=Resampling(50))
    assert (estimate.value, estimate.n, estimate.cases) == (pytest.approx(1.0), 4, 4)


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
def test_undefined_says_why(columns: list[list[object]], reason: str) -> None:
    estimate = ceiling(table(columns), resampling=NONE)
    assert estimate.value is None and reason in estimate.reason


def test_an_interval_narrows_with_the_root_of_the_cases() -> None:
    assert width_with_more(Estimate("x", 0.5, 0.2, 0.6, n=9, cases=9), 0) == pytest.approx(0.4)
    assert width_with_more(Estimate("x", 0.5, 0.2, 0.6, n=9, cases=9), 27) == pytest.approx(0.2)
    assert width_with_more(Estimate("x", 0.5, n=9, cases=9), 27) is None
    assert width_with_more(Estimate("x", 0.5, 0.2, 0.6), 27) is None


def test_two_people_who_say_the_opposite_have_no_ceiling_and_break_nothing() -> None:
    assert spearman_brown(-1.0, 2) == -math.inf
    estimate = ceiling(table([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]), resampling=Resampling(20))
    assert estimate.value is None and "not above 0" in estimate.reason


def test_raters_who_agree_up_to_rounding_leave_no_interval_without_width() -> None:
    """Resamples at 1 and at 1 - 2e-16 made "1.00 [1.00, 1.00]"."""
    rng = np.random.default_rng(2)
    ratings = [float(v) for v in rng.integers(1, 8, 16)]
    estimate = ceiling(table([ratings, ratings]), resampling=Resampling(300))
    assert estimate.value == pytest.approx(1.0) and (estimate.low, estimate.high) == (None, None)
    assert estimate.note


def plain_ceilings(ratings: RatingTable, resampling: Resampling) -> list[float]:
    """Resample by resample, with numpy's correlation."""
    values, groups = ratings.values, ratings.case_groups
    members = [np.flatnonzero(groups.of == g) for g in range(len(groups.names))]
    out = []
    for counts in draw_counts(len(members), resampling):
        for row in counts:
            units = np.concatenate([np.repeat(members[g], int(times)) for g, times in enumerate(row) if times])
            out.append(mean_correlation(values[units]))
    return out


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("equal", [0.3, 0.9])
def test_resamples_are_those_of_the_plain_loop(missing: float, equal: float) -> None:
    rng = np.random.default_rng(5)
    columns = [
        [None if rng.random() < missing else 7 if rng.random() < equal else int(rng.integers(1, 8)) for _ in range(14)]
        for _ in range(3)
    ]
    ratings, plan = table(columns), Resampling(200)
    plain = plain_ceilings(ratings, plan)
    counts = np.concatenate(list(draw_counts(len(ratings.case_groups.names), plan)))
    fast = _resampled_correlations(ratings.values, counts[:, ratings.case_groups.of])
    assert fast == pytest.approx(plain, nan_ok=True, abs=1e-9) and (missing or not np.isnan(fast).all())


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
