from __future__ import annotations

import numpy as np
import pytest

from curation.stats.bootstrap import (
    Resampling,
    case_means,
    draw_counts,
    ends,
)
from curation.stats.intervals import (
    binomial_interval,
    end_with_unseen_case,
    mean_interval,
    not_excluded,
    why_unsupported,
)


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


@pytest.mark.parametrize(("n", "bound"), [(1, 0.975), (3, 0.7076), (12, 0.2646), (100, 0.0362)])
def test_not_excluded_is_the_exact_bound(n, bound):
    """Clopper-Pearson, all n agree: the lower 97.5 % bound p solves p^n = .025."""
    assert not_excluded(n) == pytest.approx(bound, abs=1e-4)
    assert (1 - not_excluded(n)) ** n == pytest.approx(0.025)


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


def counts(groups, resampling):
    return np.concatenate(list(draw_counts(groups, resampling)))


def test_draws_depend_on_the_seed_and_not_on_the_chunk():
    one = np.concatenate(list(draw_counts(50, Resampling(300, seed=1))))
    small = np.concatenate(list(draw_counts(50, Resampling(300, seed=1), width=1_000_000)))
    assert (one == small).all()
    assert not (one == counts(50, Resampling(300, seed=2))).all()


def test_case_means_weigh_cases_alike():
    assert case_means([1, 0, 0, 1], ["a", "a", "a", "b"]) == {"a": pytest.approx(1 / 3), "b": 1.0}
    assert case_means([], []) == {}


@pytest.mark.parametrize(("values", "cases"), [([1.0], ["a", "b"]), ([float("nan")], ["a"])])
def test_faulty_values_are_refused(values, cases):
    with pytest.raises(ValueError):
        case_means(values, cases)


def test_ends_give_no_interval_where_many_draws_are_undefined():
    draws = np.array([np.nan] * 6 + [1.0, 2.0] * 47)
    assert ends(draws, Resampling(100), cases=9).note == "undefined in 6 of 100 resamples"
    few = ends(np.array([np.nan, *([1.0, 2.0] * 50)]), Resampling(101), cases=9)
    assert (few.low, few.high) == (1.0, 2.0)
    assert "left out" in few.note
