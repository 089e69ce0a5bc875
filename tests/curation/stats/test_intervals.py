"""Intervals: by formula, exact where they can be, inside the scale, and covering at small n (simulated, vectorised)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from curation.stats.bootstrap import (
    Resampling,
    case_means,
    draw_counts,
    ends,
)
from curation.stats.bounded import (
    PairedItem,
    beta_ends,
    bounded_interval,
    clustered_interval,
    difference_interval,
    difference_p,
    difference_reach,
    recurs,
    spread_of,
    student_ends,
)
from curation.stats.intervals import (
    BY_CASE,
    NO_SPREAD,
    STUDENT,
    TWO_WAY,
    binomial_interval,
    end_with_unseen_case,
    mean_interval,
    not_excluded,
    why_unsupported,
)
from curation.stats.paired import (
    holm,
    power_of,
    sign_flip,
    smallest_detectable,
    smallest_p,
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


@pytest.mark.parametrize(("hits", "n"), [(0, 6), (6, 6), (5, 6), (1, 12), (12, 12), (33, 40), (7, 8)])
def test_one_yes_or_no_a_case_gives_the_exact_interval(hits: int, n: int) -> None:
    interval = bounded_interval([1.0] * hits + [0.0] * (n - hits))
    exact = stats.binomtest(hits, n).proportion_ci()
    assert (interval.low, interval.high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert interval.kind == BY_CASE and interval.mean == pytest.approx(hits / n)


@pytest.mark.parametrize("value", [0.0, 0.4, 1.0, 1 / 3])
def test_all_agree_is_no_certainty(value: float) -> None:
    """0.1 added up thrice is not 0.3: noise of additions is no spread either."""
    noisy = [value + k * 1e-16 for k in (0, 1, -1, 0, 2, 0)]
    interval = bounded_interval([min(max(v, 0.0), 1.0) for v in noisy])
    assert interval.low <= value <= interval.high and interval.high - interval.low > 0.3
    assert interval.low >= 0 and interval.high <= 1


def test_ratings_stay_on_their_scale() -> None:
    interval = bounded_interval([7.0] * 11 + [6.0], (1.0, 7.0))
    assert interval.high == pytest.approx(7.0, abs=0.01) and 5.5 < interval.low < 6.9
    assert interval.mean - interval.low > interval.high - interval.mean
    everyone = bounded_interval([7.0] * 12, (1.0, 7.0))
    assert everyone.low == pytest.approx(1 + 6 * 0.025 ** (1 / 12)) and everyone.high == 7.0


def test_values_off_the_scale_and_without_one_get_student() -> None:
    values = [2.0, 3.0, 4.0, 5.0, 10.0]
    half = stats.t.ppf(0.975, 4) * np.std(values, ddof=1) / 5**0.5
    for scale in (None, (0.0, 1.0)):
        interval = bounded_interval(values, scale)
        assert (interval.low, interval.kind) == (pytest.approx(4.8 - half), STUDENT)
        assert interval.high is not None and interval.high > 4.8 + half, "the longer tail lies above"
    even = bounded_interval([1.0, 2.0, 3.0, 4.0, 5.0], None)
    assert even.low is not None and even.high is not None and even.low + even.high == pytest.approx(6.0)
    flat = bounded_interval([3.0] * 5, None)
    assert (flat.low, flat.high, flat.kind, flat.half) == (None, None, NO_SPREAD, 0.0)


@pytest.mark.parametrize("values", [[], [0.5], [0.0, 1.0, 0.5, 0.25]])
@pytest.mark.parametrize("scale", [None, (0.0, 1.0)])
def test_fewer_than_five_cases_have_no_interval(values: list[float], scale: tuple[float, float] | None) -> None:
    first, second = ({str(n): factor * v for n, v in enumerate(values)} for factor in (1.0, 0.5))
    of_mean, of_gap = bounded_interval(values, scale), difference_interval(first, second, scale=scale)
    for interval in (of_mean, of_gap):
        assert interval.low is interval.high is None and interval.n == len(values)
    assert beta_ends(spread_of([0.5])) is student_ends(spread_of([0.5])) is None


def test_recurring_neighbours_decide_the_kind() -> None:
    values, cases = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0], list("aabbccde")
    two_way_interval = clustered_interval(values, cases, list("xyxyxzxz"))
    interval = clustered_interval(values, cases, list("stuvwxyz"))
    assert two_way_interval.kind == TWO_WAY and interval.kind == BY_CASE
    assert two_way_interval.high - two_way_interval.low > interval.high - interval.low
    assert interval[:2] == two_way_interval[:2] == bounded_interval([0.5, 0.5, 1.0, 1.0, 1.0])[:2]
    assert clustered_interval(values, cases, ["x", None] * 4).kind == BY_CASE
    assert clustered_interval(values, cases).kind == BY_CASE
    assert not recurs(["a", "a"], ["x", "x"])


def test_differences_stay_inside_and_are_never_certain() -> None:
    ones, zeros = ({str(k): v for k in range(6)} for v in (1.0, 0.0))
    mixed = {str(k): k / 5 for k in range(6)}
    assert difference_interval(mixed, mixed).half == 0.0, "case by case"
    up, same = difference_interval(ones, zeros), difference_interval(ones, ones)
    assert up.high == 1.0 and 0 < up.low < 0.6
    assert (same.mean, same.half) == (0.0, 0.0)
    assert same.low == pytest.approx(-(1 - 0.025 ** (1 / 6))) and same.high == -same.low
    interval = difference_interval(zeros, ones)
    assert (interval.low, interval.high) == pytest.approx((-up.high, -up.low))
    assert difference_interval({"a": 1.0}, {"a": 0.0}).low is None
    assert difference_interval({"a": 1.0}, {"b": 0.0}).mean is None


def test_a_difference_over_recurring_neighbours_is_two_way() -> None:
    cases, near = [str(k) for k in range(12) for _ in range(2)], ["x", "y"] * 12
    first = [1.0 if n == "x" else 0.0 for n in near]
    items = [PairedItem(c, n, v, 0.0) for c, n, v in zip(cases, near, first, strict=True)]
    means = dict.fromkeys(cases, 0.5)
    zeros = dict.fromkeys(cases, 0.0)
    two_way_interval = difference_interval(means, zeros, items=items)
    interval = difference_interval(means, zeros)
    assert two_way_interval.kind == TWO_WAY and interval.kind == BY_CASE
    assert two_way_interval.low < 0 < interval.low  # two neighbours decide everything: nothing is known of others


def crossed(rng: np.random.Generator) -> tuple[list[float], list[str], list[str]]:
    """Five values of each of 40 cases; neighbours recur across cases and bring their own effect: mean 0."""
    near = np.concatenate([rng.choice(25, 5, replace=False) for _ in range(40)])
    row = np.repeat(np.arange(40), 5)
    values = 0.5 * rng.normal(size=40)[row] + rng.normal(size=25)[near] + 0.5 * rng.normal(size=200)
    return values.tolist(), [str(r) for r in row], [str(m) for m in near]


def test_clustering_both_ways_covers_and_by_case_does_not() -> None:
    rng = np.random.default_rng(2026)
    samples = [crossed(rng) for _ in range(200)]
    both = [clustered_interval(*sample, scale=None) for sample in samples]
    by_case = [clustered_interval(values, cases, scale=None) for values, cases, _ in samples]
    assert np.mean([i.low <= 0 <= i.high for i in both]) >= 0.92 - 3 * math.sqrt(0.05 * 0.95 / 200)
    assert np.mean([i.low <= 0 <= i.high for i in by_case]) < 0.75


def test_a_rare_loss_that_was_not_drawn_is_allowed_for() -> None:
    """2 % of the cases lose everything and the others hardly vary: the means alone covered 41 % at 20 cases."""
    rng, covered = np.random.default_rng(5), 0
    for _ in range(200):
        values = np.where(rng.random(20) < 0.02, 0.0, 1 - 0.02 * rng.random(20))
        ends = beta_ends(spread_of(values.tolist()))
        assert ends is not None
        covered += ends[0] <= 0.98 * 0.99 <= ends[1]
    assert covered >= 190


@pytest.mark.parametrize("n", [6, 12, 20])
def test_coverage_of_rates(n: int) -> None:
    """At least 93 % from 6 cases on, for clustered prompts too (150 runs each; three standard errors allowed)."""
    rng = np.random.default_rng(n)
    for share in (0.05, 0.5, 0.95):
        for each, chance in ((1, np.full((150, n), share)), (5, rng.beta(share, 1 - share, (150, n)))):
            intervals = [bounded_interval(v) for v in (rng.binomial(each, chance) / each).tolist()]
            coverage = np.mean([f.low - 1e-9 <= share <= f.high + 1e-9 for f in intervals])
            assert coverage >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / 150), (share, each)


def test_p_of_a_difference_is_where_its_interval_begins_to_hold_zero() -> None:
    """Against the interval itself: it excludes 0 at 95 % exactly where p is below 0.05."""
    rng = np.random.default_rng(5)
    visits = set()
    for _ in range(60):
        n = int(rng.integers(5, 25))
        one, two = ({str(k): float(rng.binomial(4, p) / 4) for k in range(n)} for p in (0.8, 0.45))
        interval, p = difference_interval(one, two), difference_p(one, two)
        excludes_zero = interval.low > 1e-9 or interval.high < -1e-9
        assert (p < 0.05) == excludes_zero
        visits.add(excludes_zero)
        reach = difference_reach(one, two, 0.05)
        if interval.high < 1 and interval.low > -1:
            assert reach == pytest.approx(max(interval.mean - interval.low, interval.high - interval.mean))
    assert visits == {True, False}


def test_p_of_a_difference_where_there_is_none() -> None:
    same = {"a": 0.5, "b": 0.25, "c": 1.0}
    assert difference_p(same, same) == 1.0
    assert difference_p({"a": 1.0}, {"a": 0.0}) is None and difference_reach({"a": 1.0}, {"a": 0.0}, 0.05) is None
    assert difference_p({"a": 2.0, "b": 1.0}, {"a": 0.0, "b": 1.0}) is None, "off the scale"
    items = [PairedItem(c, n, 1.0, 0.0) for c in "abc" for n in "xy"]
    ones, noughts = (dict.fromkeys("abc", v) for v in (1.0, 0.0))
    assert difference_p(ones, noughts, items=items) > difference_p(ones, noughts), "two neighbours are two units"


def test_a_difference_without_a_scale_has_a_p_that_holds_without_symmetry() -> None:
    """Exponential differences less their mean, 10 cases: signs reject too often, this test does not."""
    rng = np.random.default_rng(11)
    gaps = [dict(enumerate(row)) for row in (rng.exponential(size=(400, 10)) - 1).tolist()]
    noughts = dict.fromkeys(range(10), 0.0)
    assert np.mean([difference_p(g, noughts, scale=None) <= 0.05 for g in gaps]) <= 0.07
    shifted = [{k: v + 1.5 for k, v in g.items()} for g in gaps[:100]]
    assert np.mean([difference_p(g, noughts, scale=None) <= 0.05 for g in shifted]) > 0.6, "and it sees a difference"
    assert difference_p(dict.fromkeys(range(9), 1.0), noughts, scale=None) is None, "where nothing varies"


def test_no_value_exceeds_its_limit() -> None:
    """Twelve cases whose prompts can lose a tenth at most and lose nothing: no more than a tenth can be lost."""
    cases, noughts, limits = [str(n // 2) for n in range(24)], [0.0] * 24, [0.1] * 24
    plain, limited = (clustered_interval(noughts, cases, limits=some) for some in ((), limits))
    assert limited.low == plain.low == limited.mean == 0.0
    assert plain.high == pytest.approx(0.265, abs=0.001) and limited.high == pytest.approx(plain.high / 10)
    items = [PairedItem(case, None, 0.0, 0.0, 0.1) for case in cases]
    by_case = dict.fromkeys(cases, 0.0)
    gap, bounded = difference_interval(by_case, by_case), difference_interval(by_case, by_case, items=items)
    assert bounded.high == pytest.approx(gap.high / 10) and bounded.low == -bounded.high


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_sign_flip_is_exact_for_few(gaps):
    observed = abs(sum(gaps))
    every = [
        abs(sum(s * g for s, g in zip(signs, gaps, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(gaps))
    ]
    assert sign_flip(np.array(gaps, dtype=float)) == pytest.approx(np.mean(np.array(every) >= observed))


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        # by hand: 4·.005, 3·.01, 2·.03 and 1·.04 raised to the one before
        pytest.param([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02], id="four"),
        pytest.param([0.6, 0.7], [1, 1], id="never above one"),
        pytest.param([0.02, None, 0.03], [0.04, None, 0.04], id="undefined is not in the family"),
        pytest.param([0.01, 0.01, 0.01], [0.03, 0.03, 0.03], id="equal"),
        pytest.param([], [], id="empty"),
    ],
)
def test_holm(p_values, expected):
    values = holm({str(n): p for n, p in enumerate(p_values)})
    assert list(values.values()) == [w if w is None else pytest.approx(w) for w in expected]


@pytest.mark.parametrize(
    ("effect", "n", "power"),
    # two-sided paired t test at .05, as tabulated (Cohen 1988 and G*Power): least n for 80 % are 199, 34 and 15
    [(0.2, 199, 0.80), (0.5, 34, 0.808), (0.8, 15, 0.82), (0.0, 20, 0.05)],
)
def test_power_by_tables(effect, n, power):
    assert power_of(effect, sd=1, n=n) == pytest.approx(power, abs=5e-3)
    if effect:
        assert power_of(effect, sd=1, n=n) >= 0.8 > power_of(effect, sd=1, n=n - 1)


@pytest.mark.parametrize("n", [2, 3, 5, 34, 400, 1830])
def test_smallest_detectable_has_the_wanted_power(n):
    difference = smallest_detectable(sd=0.3, n=n, power=0.9, level=0.05)
    assert power_of(difference, sd=0.3, n=n) == pytest.approx(0.9)
    assert difference == pytest.approx(0.3 * smallest_detectable(sd=1, n=n, power=0.9))
    assert smallest_detectable(sd=0.3, n=n, power=0.9, family=6) > difference


@pytest.mark.parametrize("wrong", [{"sd": 0}, {"n": 1}, {"power": 0.01}, {"level": 1}, {"family": 0}])
def test_faulty_designs_are_refused(wrong):
    with pytest.raises(ValueError):
        smallest_detectable(**{"sd": 1.0, "n": 10, **wrong})


def test_the_smallest_p_is_that_of_equal_signs():
    for n in range(1, 9):
        assert smallest_p(n) == sign_flip(np.ones(n))


def test_rounding_noise_is_no_difference() -> None:
    """Six differences of 1e-17, all from additions, gave p = 0.03."""
    for noise in ([1e-17] * 6, [0.1 + 0.2 - 0.3] * 12, [-1e-16] * 40):
        assert sign_flip(np.array(noise)) == 1.0
    assert sign_flip(np.array([1e-17, 1.0, 1.0, 1.0])) == sign_flip(np.array([1.0, 1.0, 1.0])) == 0.25
    assert sign_flip(np.array([1e-9] * 6)) == 0.03125, "small probabilities are differences"
