"""Rank correlations of all metrics with each other: over everything, within methods, between methods (ScEdit §4.3).

A unit is a case under a method. Pooled over methods, two metrics can correlate only because the methods differ (a
method that ruins the model has all its metrics low) or against what holds within every method; so the three are given
apart, and each has the test of its own coefficient: pooled, that rho is 0 over cases (resampled whole); within, that
cases could be exchanged under every method; between, that methods could be. None takes single units for independent.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from curation.stats.bootstrap import FISHER, Resampling, student_ends_of_draws
from curation.stats.correlation import spearman
from curation.stats.estimates import Estimate, Floats, undefined
from curation.stats.paired import holm

View = Literal["pooled", "within", "between"]
LEVEL, SMALLEST = 0.05, 0.1
Values = Mapping[str, Mapping[str, Mapping[str, float]]]  # metric -> method -> case -> value
_ALL_ORDERS = 7  # methods up to which all orders are tried: 5040
_CHUNK = 1_000_000  # numbers ranked at once
_FEW = "fewer than three cases have values under every method"


class MetricPair(NamedTuple):
    """Two metrics in one view; ``p_holm``: the p of the correlation, corrected for all pairs of the view."""

    first: str
    second: str
    correlation: Estimate
    p_holm: float | None

    @property
    def decided(self) -> bool:
        """Whether the corrected p is below 0.05 and abs(rho) above 0.1."""
        return passes_filter(self.correlation.value, self.p_holm)


class Correlations(NamedTuple):
    """One view of all metrics: pairs, and the metrics in the order of their clusters with the joins of the tree.

    A join has the place on the axis (in metrics, from 0) and the height of its left half, those of its right half, and
    the distance 1 - rho at which they meet.
    """

    view: View
    pairs: tuple[MetricPair, ...]
    order: tuple[str, ...]
    joins: tuple[tuple[float, float, float, float, float], ...]
    methods: int
    cases: int

    def between(self, first: str, second: str) -> MetricPair | None:
        """The pair of two metrics, in any order."""
        return next((p for p in self.pairs if {p.first, p.second} == {first, second}), None)


def correlate(values: Values, view: View, *, resampling: Resampling = Resampling(2000)) -> Correlations:  # noqa: B008
    """Correlate every two metrics.

    Args:
        values: Case means by metric and method; the order of the metrics is that of the tables.
        view: ``pooled`` over methods, ``within`` methods (ranks within each method, so that methods cannot differ), or
            ``between`` methods (their means).
        resampling: Resamples and permutations, seed.
    """
    names = [m for m in values if any(values[m].values())]
    estimates = {}
    for a, b in itertools.combinations(names, 2):
        rows = [
            (method, case, values[a][method][case], values[b][method][case])
            for method in values[a]
            for case in values[a][method]
            if case in values[b].get(method, {})
        ]
        estimates[(a, b)] = _VIEWS[view](rows, resampling)
    corrected = holm({f"{a}\n{b}": e.p for (a, b), e in estimates.items()})
    pairs = tuple(MetricPair(a, b, e, corrected[f"{a}\n{b}"]) for (a, b), e in estimates.items())
    order, joins = cluster(names, {(p.first, p.second): p.correlation.value for p in pairs})
    methods = {m for by_method in values.values() for m in by_method}
    cases = {c for by_method in values.values() for by_case in by_method.values() for c in by_case}
    return Correlations(view, pairs, order, joins, len(methods), len(cases))


def passes_filter(rho: float | None, p: float | None) -> bool:
    """The filter of ScEdit's Table 6: p below 0.05 and abs(rho) above 0.1."""
    return rho is not None and p is not None and p < LEVEL and abs(rho) > SMALLEST


def spearman_p(rho: float, n: int) -> float | None:
    """The usual two-sided p of Spearman's rho of n independent pairs, as printed tables have it.

    Example:
        >>> round(spearman_p(0.5, 30), 4), spearman_p(0.5, 2)
        (0.0049, None)
    """
    from scipy import stats  # type: ignore[import-untyped]

    if n < 3:
        return None
    return float(2 * stats.t.sf(abs(rho) * np.sqrt((n - 2) / max(1 - rho * rho, 1e-15)), n - 2))


MetricPairRow = tuple[str, str, float, float]


def _complete_cases(rows: Sequence[MetricPairRow]) -> tuple[Floats, Floats, list[str]] | None:
    """The cases that all methods have, with two metrics' values (methods, cases); None with fewer than three cases."""
    methods = sorted({r[0] for r in rows})
    by_case_method: dict[str, dict[str, tuple[float, float]]] = {}
    for method, case, a, b in rows:
        by_case_method.setdefault(case, {})[method] = (a, b)
    cases = sorted(c for c, by_method in by_case_method.items() if len(by_method) == len(methods))
    if len(cases) < 3:
        return None
    both = np.array([[by_case_method[c][m] for c in cases] for m in methods])
    return both[:, :, 0], both[:, :, 1], cases


def _pooled_view(rows: Sequence[MetricPairRow], resampling: Resampling) -> Estimate:
    """Spearman's rho of all units; interval and test (null: this rho is 0) resample whole cases under these methods."""
    whole = _complete_cases(rows)
    if whole is None:
        return undefined("spearman", _FEW, n=len(rows))
    x, y, keys = whole
    cases = [key for key in keys for _ in range(len(x))]
    names = ("values of one metric", "values of one metric")
    fewer, sides = _fewer_resamples(resampling, x.size), (x.T.ravel().tolist(), y.T.ravel().tolist())
    return spearman(*sides, cases, resampling=fewer, null="zero", names=names)


def _within_view(rows: Sequence[MetricPairRow], resampling: Resampling) -> Estimate:
    """Mean over methods of Spearman's rho of their cases; the test exchanges the same cases under all methods."""
    name = "spearman within methods"
    whole = _complete_cases(rows)
    if whole is None:
        return undefined(name, _FEW, n=len(rows))
    x, y, keys = whole
    u, v = _ranks(x), _ranks(y)
    vary = (np.abs(u).sum(axis=1) > 0) & (np.abs(v).sum(axis=1) > 0)
    if not vary.any():
        why = "under every method one of the two is the same for all cases"
        return undefined(name, why, n=x.size, cases=len(keys))
    u, v, x, y = u[vary], v[vary], x[vary], y[vary]
    value = float((u * v).sum(axis=1).mean())
    fewer = _fewer_resamples(resampling, x.size)
    low, high, _ = student_ends_of_draws(value, _resampled(x, y, fewer), FISHER, fewer, cases=len(keys))
    note = "" if vary.all() else f"{int((~vary).sum())} of {len(vary)} methods left out: a metric does not vary there"
    method = fewer.describe(f"case bootstrap, t on {FISHER.name}") if low is not None else ""
    p = _exchange_p(u, v, resampling)
    return Estimate(name, value, low, high, x.size, len(keys), method, p, note=note)


def _fewer_resamples(resampling: Resampling, n: int) -> Resampling:
    """Fewer resamples for the interval where each is dear; the test keeps its own number."""
    return resampling._replace(resamples=min(resampling.resamples, max(200, 1_000_000 // max(n, 1))))


def _exchange_p(u: Floats, v: Floats, resampling: Resampling) -> float | None:
    """Two-sided p when the cases of one metric are exchanged, the same under every method."""
    if not resampling.resamples:
        return None
    seen = abs(float((u * v).sum())) / len(u)
    rng = np.random.default_rng([resampling.seed, 4])
    times = resampling.resamples
    hits = sum(abs(float((u * v[:, rng.permutation(v.shape[1])]).sum())) / len(u) >= seen - 1e-9 for _ in range(times))
    return (1 + hits) / (1 + times)


def _resampled(x: Floats, y: Floats, resampling: Resampling) -> Floats:
    """Draws of the mean rho when cases are drawn with replacement, the same under all methods."""
    rng = np.random.default_rng([resampling.seed, 5])
    draws: list[float] = []
    chunk = max(1, _CHUNK // x.size)
    for start in range(0, resampling.resamples, chunk):
        picked = rng.integers(0, x.shape[1], size=(min(chunk, resampling.resamples - start), x.shape[1]))
        u, v = (np.moveaxis(_ranks(m[:, picked]), 0, 1) for m in (x, y))  # (resamples, methods, cases)
        vary = (np.abs(u).sum(axis=2) > 0) & (np.abs(v).sum(axis=2) > 0)
        rho = np.where(vary, (u * v).sum(axis=2), 0.0).sum(axis=1)
        draws += (rho[vary.any(axis=1)] / vary.sum(axis=1)[vary.any(axis=1)]).tolist()
    return np.array(draws)


def _ranks(data: Floats) -> Floats:
    """Mid-ranks along the last axis, centred, of length 1; zeros where the values do not vary."""
    from scipy import stats

    ranks = stats.rankdata(data, axis=-1) - (data.shape[-1] + 1) / 2
    size = np.sqrt((ranks**2).sum(axis=-1, keepdims=True))
    return np.asarray(np.divide(ranks, size, out=np.zeros_like(ranks), where=size > 0))


def _between_view(rows: Sequence[MetricPairRow], resampling: Resampling) -> Estimate:
    """Spearman's rho of the methods' means over the cases that both metrics have; exact p for few methods."""
    name = "spearman between methods"
    methods = sorted({r[0] for r in rows})
    if len(methods) < 3:
        return undefined(name, f"{len(methods)} methods are too few to correlate their means", n=len(methods))
    means = [np.mean([[r[2], r[3]] for r in rows if r[0] == m], axis=0) for m in methods]
    table = _ranks(np.array(means).T)
    u, v = table[0], table[1]
    if not np.abs(u).sum() or not np.abs(v).sum():
        return undefined(name, "all methods have the same mean", n=len(methods))
    value = float(u @ v)
    if len(methods) <= _ALL_ORDERS:
        draws = np.array([u @ v[list(order)] for order in itertools.permutations(range(len(methods)))])
        p = float((np.abs(draws) >= abs(value) - 1e-9).mean())
    else:
        rng = np.random.default_rng([resampling.seed, 6])
        draws = np.array([u @ v[rng.permutation(len(methods))] for _ in range(resampling.resamples)])
        p = float((1 + (np.abs(draws) >= abs(value) - 1e-9).sum()) / (1 + len(draws)))
    note = f"{len(methods)} means, no interval"
    if 2 / math.factorial(len(methods)) >= LEVEL:
        note += f"; could never decide with {len(methods)} methods"
    return Estimate(name, value, None, None, len(methods), len(methods), "", p, note=note)


_VIEWS = {"pooled": _pooled_view, "within": _within_view, "between": _between_view}


def cluster(
    names: Sequence[str], rho: Mapping[tuple[str, str], float | None]
) -> tuple[tuple[str, ...], tuple[tuple[float, float, float, float, float], ...]]:
    """Order of the metrics in an average-linkage tree over the distance 1 - rho, and the tree's joins.

    An undefined correlation counts as 0 here (only the order depends on it).

    Returns:
        Names in order, and joins (place of left, height of left, place of right, height of right, height of the join).

    Example:
        >>> cluster(["a", "b", "c"], {("a", "b"): 0.0, ("a", "c"): 0.9, ("b", "c"): 0.1})[0]
        ('b', 'c', 'a')
    """
    if len(names) < 3:
        return tuple(names), ()
    from scipy.cluster import hierarchy  # type: ignore[import-untyped]
    from scipy.spatial.distance import squareform  # type: ignore[import-untyped]

    far = np.zeros((len(names), len(names)))
    for (a, b), value in rho.items():
        i, j = names.index(a), names.index(b)
        far[i, j] = far[j, i] = max(0.0, 1 - (value or 0.0))
    condensed = squareform(far, checks=False)
    tree = hierarchy.optimal_leaf_ordering(hierarchy.linkage(condensed, "average"), condensed)
    drawn = hierarchy.dendrogram(tree, no_plot=True)  # a leaf is 10 wide, the first one's middle at 5
    joins = [
        ((x[0] - 5) / 10, y[0], (x[2] - 5) / 10, y[3], y[1])
        for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True)
    ]
    return tuple(names[n] for n in drawn["leaves"]), tuple(sorted(joins, key=lambda join: join[-1]))
