import numpy as np
import pytest

from curation.stats.bootstrap import (
    Resampling,
    bootstrap_sums,
    case_means,
    cluster_bootstrap,
    draw_counts,
    ends,
)
from curation.stats.intervals import mean_interval


def counts(groups, resampling, stream=0):
    return np.concatenate(list(draw_counts(groups, resampling, stream=stream)))


def test_a_resample_draws_as_many_cases_as_there_are():
    tally = counts(7, Resampling(500, seed=3))
    assert tally.shape == (500, 7)
    assert (tally.sum(axis=1) == 7).all()
    assert tally.mean() == 1
    assert tally.var() == pytest.approx(6 / 7, abs=0.05)  # binomial(7, 1/7)


def test_draws_depend_on_the_seed_and_not_on_the_chunk():
    one = np.concatenate(list(draw_counts(50, Resampling(300, seed=1))))
    small = np.concatenate(list(draw_counts(50, Resampling(300, seed=1), width=1_000_000)))
    assert (one == small).all()
    assert not (one == counts(50, Resampling(300, seed=2))).all()
    assert not (one == counts(50, Resampling(300, seed=1), stream=1)).all()


def test_case_means_weigh_cases_alike():
    assert case_means([1, 0, 0, 1], ["a", "a", "a", "b"]) == {"a": pytest.approx(1 / 3), "b": 1.0}
    assert case_means([], []) == {}


def test_cluster_bootstrap_equals_a_loop():
    values, cases = [1, 0, 1, 1, 0, 0.5, 0.25], ["a", "a", "b", "c", "c", "d", "e"]
    plan = Resampling(200, seed=5)
    estimate = cluster_bootstrap(values, cases, plan)
    means = list(case_means(values, cases).values())
    loop = [sum(m * k for m, k in zip(means, times, strict=True)) / 5 for times in counts(5, plan)]
    assert estimate.value == pytest.approx(np.mean(means))
    assert (estimate.low, estimate.high) == pytest.approx(tuple(np.percentile(loop, [2.5, 97.5])))
    assert (estimate.n, estimate.cases) == (7, 5)
    assert estimate == cluster_bootstrap(values, cases, plan)


def test_cluster_bootstrap_is_the_normal_interval_for_many_cases():
    values = np.random.default_rng(0).random(900)
    cases = [str(n) for n in range(900)]
    estimate, normal = cluster_bootstrap(values, cases, Resampling(4000)), mean_interval(values.tolist())
    assert estimate.low == pytest.approx(normal.low, abs=0.08 * normal.half)
    assert estimate.high == pytest.approx(normal.high, abs=0.08 * normal.half)


@pytest.mark.parametrize(
    ("values", "cases", "value", "note"),
    [
        pytest.param([], [], None, "", id="nothing"),
        pytest.param([1, 0], ["a", "a"], 0.5, "n = 1: too few", id="one case"),
        pytest.param([1, 0, 1, 0], list("abcd"), 0.5, "n = 4: too few", id="four cases"),
        pytest.param([1] * 5, list("abcde"), 1.0, "all agree", id="all equal"),
    ],
)
def test_cluster_bootstrap_says_what_it_does_not_know(values, cases, value, note):
    estimate = cluster_bootstrap(values, cases)
    assert estimate.value == value
    assert note in estimate.note and estimate.low is estimate.high is None
    assert estimate.defined is (value is not None)


@pytest.mark.parametrize(("values", "cases"), [([1.0], ["a", "b"]), ([float("nan")], ["a"])])
def test_faulty_values_are_refused(values, cases):
    with pytest.raises(ValueError):
        cluster_bootstrap(values, cases)


def test_ends_give_no_interval_where_many_draws_are_undefined():
    draws = np.array([np.nan] * 6 + [1.0, 2.0] * 47)
    assert ends(draws, Resampling(100), cases=9).note == "undefined in 6 of 100 resamples"
    few = ends(np.array([np.nan, *([1.0, 2.0] * 50)]), Resampling(101), cases=9)
    assert (few.low, few.high) == (1.0, 2.0)
    assert "left out" in few.note


def test_bootstrap_of_no_resamples_is_empty():
    assert bootstrap_sums(np.ones((3, 1)), lambda s: s[:, 0], Resampling(0)).size == 0
