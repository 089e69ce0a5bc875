import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.stats.intervals import mean_interval, not_excluded, why_unsupported


@pytest.mark.parametrize(
    ("values", "mean", "half"),
    [
        pytest.param([], None, None, id="nothing"),
        pytest.param([0.25], 0.25, None, id="one value has no spread"),
        pytest.param([1.0] * 5, 1.0, 0.0, id="all equal"),
        pytest.param([0.0, 1.0, 1.0, 0.0], 0.5, None, id="four are too few"),
        # by hand: mean .5, deviations ±.5, variance 6*.25/5 = .3, 1.96*sqrt(.3/6) = .438269
        pytest.param([0.0, 1.0, 1.0, 0.0, 0.0, 1.0], 0.5, 0.4382693235, id="coin"),
        # by hand: mean 3, variance (4+1+0+1+4)/4 = 2.5, 1.96*sqrt(2.5/5) = 1.385929
        pytest.param([1.0, 2.0, 3.0, 4.0, 5.0], 3.0, 1.3859292911, id="one to five"),
    ],
)
def test_mean_interval_by_hand(values, mean, half):
    interval = mean_interval(values)
    assert interval.n == len(values)
    assert interval.mean == (None if mean is None else pytest.approx(mean))
    assert interval.half == (None if half is None else pytest.approx(half))
    assert (interval.low is None) == (not half) and (interval.missing == "") == bool(half or mean is None)


def test_published_width_is_reproduced():
    """ScEdit Table 2, GPT2-XL base model: ES 20.55 ± 1.85 over 1,830 cases of one prompt each."""
    hits = round(0.2055 * 1830)
    interval = mean_interval([1.0] * hits + [0.0] * (1830 - hits))
    assert round(100 * interval.mean, 2) == 20.55
    assert round(100 * interval.half, 2) == 1.85


@given(st.lists(st.floats(0, 1), min_size=5, max_size=60))
def test_against_the_standard_library(values):
    interval = mean_interval(values)
    assert interval.mean == pytest.approx(statistics.fmean(values))
    assert interval.half == pytest.approx(1.96 * statistics.stdev(values) / math.sqrt(len(values)), abs=1e-12)


@pytest.mark.parametrize(("n", "bound"), [(1, 0.975), (3, 0.7076), (12, 0.2646), (100, 0.0362)])
def test_not_excluded_is_the_exact_bound(n, bound):
    """Clopper-Pearson, all n agree: the lower 97.5 % bound p solves p^n = .025."""
    assert not_excluded(n) == pytest.approx(bound, abs=1e-4)
    assert (1 - not_excluded(n)) ** n == pytest.approx(0.025)


def test_not_excluded_needs_a_unit():
    with pytest.raises(ValueError, match="at least 1"):
        not_excluded(0)


@pytest.mark.parametrize(
    ("values", "chances", "reason"),
    [
        ([7.0] * 16 + [6.0] * 4, [1.0] * 20, "4 differ (5 are needed)"),
        ([7.0] * 15 + [6.0] * 5, [1.0] * 20, ""),
        ([7.0] * 20, [1.0] * 20, ""),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [0.1] * 5, ""),
        ([float(n % 5) for n in range(20)], [0.02] * 3 + [1.0] * 17, "weigh as much as"),
        ([float(n % 5) for n in range(20)], [0.4] * 10 + [0.8] * 10, ""),
        ([], [], ""),
    ],
    ids=["four of twenty differ", "five do", "all agree, which has a note of its own", "few and spread", "unequal",
         "slightly unequal", "nothing"],
)  # fmt: skip
def test_what_simulation_does_not_support(values: list[float], chances: list[float], reason: str) -> None:
    note = why_unsupported([(f"c{n}", v, p) for n, (v, p) in enumerate(zip(values, chances, strict=True))])
    assert (reason in note) if reason else note == ""
