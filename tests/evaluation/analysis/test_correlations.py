"""Correlations of metrics: values of scipy, tests that respect cases and methods, order of the clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from curation.stats.bootstrap import Resampling
from evaluation.analysis.correlations import cluster, correlate, spearman_p

HOW = Resampling(400, seed=2)

METHODS = ("ft", "rome", "prompt")


def values(*, cases: int = 30, between: float = 0.0, within: float = 0.0, seed: int = 0):
    """Metric B follows A by ``within`` case by case; ``between`` adds the method's level to A and takes it from B."""
    rng = np.random.default_rng(seed)
    out = {"A": {}, "B": {}, "C": {}}
    for n, m in enumerate(METHODS):
        a, b, c = rng.normal(size=(3, cases))
        keys = [f"c{k}" for k in range(cases)]
        out["A"][m] = dict(zip(keys, a + between * n, strict=True))
        out["B"][m] = dict(zip(keys, within * a + b - between * n, strict=True))
        out["C"][m] = dict(zip(keys, c, strict=True))
    return out


def flat(data, name):
    return [v for m in METHODS for v in data[name][m].values()]


def test_pooled_is_scipys_value():
    data = values(within=0.5)
    pair = correlate(data, "pooled", resampling=HOW).between("B", "A")
    assert pair.correlation.value == pytest.approx(stats.spearmanr(flat(data, "A"), flat(data, "B")).statistic)
    units = stats.spearmanr(flat(data, "A"), flat(data, "B")).pvalue
    assert spearman_p(pair.correlation.value, pair.correlation.n) == pytest.approx(units)


@pytest.mark.parametrize("view", ["pooled", "within", "between"])
@pytest.mark.parametrize("seed", range(6))
def test_the_corrected_p_is_of_the_same_test_and_never_smaller(view, seed):
    """The pooled view printed the p of single units with Holm's of another test: p 0.0446, Holm 0.0431."""
    pairs = correlate(values(within=0.3, between=1.0, seed=seed), view, resampling=Resampling(99)).pairs
    assert pairs and all(p.p_holm >= p.correlation.p for p in pairs if p.correlation.p is not None)
    assert all(p.decided == (p.p_holm < 0.05 and abs(p.correlation.value) > 0.1) for p in pairs if p.p_holm)


def test_pooled_p_and_interval_are_of_one_null():
    """Methods that differ: the interval is far from 0; a p from exchanging cases was 1, of another null."""
    correlation = correlate(values(between=4.0), "pooled", resampling=HOW).between("A", "B").correlation
    assert correlation.high < -0.5 and correlation.p < 0.001
    data = values(seed=5)
    for pair in correlate(data, "pooled", resampling=HOW).pairs:
        e = pair.correlation
        assert (e.low > 0 or e.high < 0) == (e.p < 0.05) or 0.02 < e.p < 0.1, "they can differ near the level only"


def test_within_is_the_mean_of_the_methods_own():
    data = values(within=0.4, between=3.0)
    correlation = correlate(data, "within", resampling=HOW).between("A", "B").correlation
    statistics = [stats.spearmanr(list(data["A"][m].values()), list(data["B"][m].values())).statistic for m in METHODS]
    assert correlation.value == pytest.approx(np.mean(statistics))
    assert correlation.low < correlation.value < correlation.high


def test_methods_that_differ_make_metrics_correlate_only_when_pooled():
    data = values(between=4.0)
    pooled = correlate(data, "pooled", resampling=HOW).between("A", "B").correlation
    correlation = correlate(data, "within", resampling=HOW).between("A", "B").correlation
    between = correlate(data, "between", resampling=HOW).between("A", "B").correlation
    assert pooled.value < -0.7 and abs(correlation.value) < 0.25 and between.value == pytest.approx(-1.0)
    assert between.p == pytest.approx(2 / 6), "all orders of three methods: two of six are as extreme"
    assert between.note == "3 means, no interval; could never decide with 3 methods"


def test_no_association_is_seldom_decided():
    total = sum(
        p.decided for seed in range(12) for p in correlate(values(seed=seed), "within", resampling=Resampling(99)).pairs
    )
    assert total <= 6, "about 2 of 36 pairs at the level of 5 %; more than 6 has a chance below 1 %"


def test_cases_that_lack_a_method_are_left_out_and_few_cases_say_so():
    data = values(cases=4)
    del data["A"]["ft"]["c0"]
    assert correlate(data, "within", resampling=HOW).between("A", "B").correlation.cases == 3
    del data["A"]["rome"]["c1"]
    correlation = correlate(data, "within", resampling=HOW).between("A", "B").correlation
    assert correlation.value is None and "fewer than three cases" in correlation.reason


def test_constant_metrics_are_undefined_not_zero():
    data = values()
    data["C"] = {m: dict.fromkeys(data["C"][m], 1.0) for m in METHODS}
    for view in ("pooled", "within", "between"):
        correlation = correlate(data, view, resampling=HOW).between("A", "C").correlation
        assert correlation.value is None and correlation.reason


def test_clusters_put_what_correlates_side_by_side():
    rho = {("a", "b"): 0.0, ("a", "c"): 0.9, ("a", "d"): -0.2, ("b", "c"): 0.1, ("b", "d"): 0.8, ("c", "d"): -0.1}
    order, joins = cluster(["a", "b", "c", "d"], rho)
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset("ac"), frozenset("bd")}
    assert len(joins) == 3 and joins[-1][4] == max(j[4] for j in joins)
