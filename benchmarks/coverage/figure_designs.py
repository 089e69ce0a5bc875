"""Rows of figures that the report makes itself: questions pooled over cases, perplexities, correlations of metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np

from benchmarks.coverage.rows import Array, Outcome, Rng, Row, covers
from curation.stats.bootstrap import Resampling
from curation.stats.bounded import SHARE, Scale, difference_interval
from evaluation.analysis.correlations import View, correlate
from evaluation.analysis.pairwise_tests import comparison_families
from evaluation.metrics.pooled import contributions, pooled_difference, pooled_interval
from evaluation.metrics.token_level import SBO
from schemas.answers import CaseScores, ItemScore

PLAN, _FEWER = Resampling(300), Resampling(100)
_RATE = 0.8
_NATS = 2.0  # a token, of the perplexity of both sides: exp(2) = 7.4
_METHODS, _MANY_METHODS = 4, 6
Scored = dict[str, CaseScores]


def _scores(values: Array, weights: Array, cases: Array) -> Scored:
    """Questions' values and weights as scores of their cases."""
    items: dict[str, list[ItemScore]] = {}
    for k, (value, weight, case) in enumerate(zip(values, weights, cases, strict=True)):
        items.setdefault(str(int(case)), []).append(
            ItemScore(probe=f"q{k}", item=f"q{k}", value=float(value), weight=float(weight))
        )
    return {case: CaseScores(case=case, metric="m", items=tuple(some)) for case, some in items.items()}


def right_answers(rng: Rng, n: int) -> tuple[Scored, Scored]:
    """Two methods on one to eight questions a case, right with a chance of their case's own: 0.8 over all questions."""
    cases = np.repeat(np.arange(n), rng.integers(1, 9, n)).astype(float)
    chance = rng.beta(4 * _RATE, 4 * (1 - _RATE), n)[cases.astype(int)]
    ones = np.ones(len(cases))
    first, second = (_scores((rng.random(len(cases)) < chance).astype(float), ones, cases) for _ in "ab")
    return first, second


def token_losses(rng: Rng, n: int) -> tuple[Scored, Scored]:
    """Two methods on six answers a document: log-normal nats a token that a document shares in part, 1 to 8 tokens."""
    cases = np.repeat(np.arange(n), 6).astype(float)
    shared = 0.4 * rng.normal(size=n)[cases.astype(int)]
    tokens = rng.integers(1, 9, len(cases)).astype(float)
    spread = (0.4**2 + 0.6**2) / 2
    sides = [_scores(_NATS * np.exp(shared + 0.6 * rng.normal(size=len(cases)) - spread), tokens, cases) for _ in "ab"]
    return sides[0], sides[1]


def _sums(scores: Mapping[str, CaseScores]) -> list[tuple[float, float]]:
    return [
        (sum((i.value or 0.0) * i.weight for i in s.items), sum(i.weight for i in s.items)) for s in scores.values()
    ]


def lost_probability(rng: Rng, n: int, *, rate: float, uneven: bool = False) -> list[CaseScores]:
    """S-BO of n cases with 2 to 8 prompts: a prompt loses an even share of P_before at this rate, or all at rate 1.

    P_before has the mean 1/6 and is skewed; ``uneven``: a tenth of the prompts has .71, the others .016.
    """
    out = []
    for case in range(n):
        size = int(rng.integers(2, 9))
        before = rng.beta(0.5, 2.5, size)
        if uneven:
            before = np.where(rng.random(size) < 0.1, rng.beta(5, 2, size), rng.beta(1, 60, size))
        lost = before * (rng.random(size) < rate) * (1.0 if rate == 1 else rng.random(size))
        items = [
            ItemScore(probe=f"{case}/{k}", item="i", value=float(lost[k]), largest=float(before[k]))
            for k in range(size)
        ]
        out.append(CaseScores(case=str(case), metric="s_bo", items=tuple(items)))
    return out


def _bleed_over(rate: float, *, uneven: bool = False) -> Callable[[Rng, int], Outcome]:
    mean = 0.9 * 1 / 61 + 0.1 * 5 / 7 if uneven else 0.5 / 3
    truth = mean * rate * (1.0 if rate == 1 else 0.5)

    def once(rng: Rng, n: int) -> Outcome:
        interval = SBO().summarise(lost_probability(rng, n, rate=rate, uneven=uneven)).interval
        return covers((interval.low, interval.high), truth)

    return once


Draw = Callable[[Rng, int], tuple[Scored, Scored]]


def _pooled(draw: Draw, scale: Scale | None, truth: float) -> Callable[[Rng, int], Outcome]:
    def once(rng: Rng, n: int) -> Outcome:
        interval = pooled_interval(_sums(draw(rng, n)[0]), scale, PLAN)
        return covers((interval.low, interval.high), truth)

    return once


def _pooled_gap(draw: Draw, scale: Scale | None) -> Callable[[Rng, int], Outcome]:
    def once(rng: Rng, n: int) -> Outcome:
        interval = pooled_difference(*draw(rng, n), scale, PLAN)
        return covers((interval.low, interval.high), 0.0)

    return once


def _pooled_test(draw: Draw) -> Callable[[Rng, int], Outcome]:
    def once(rng: Rng, n: int) -> Outcome:
        values = contributions(dict(zip("ab", draw(rng, n), strict=True)))
        (family,) = comparison_families("m", values, baseline=None)
        return family.pairs[0].verdict in ("first", "second")

    return once


def divergences(rng: Rng, n: int) -> tuple[dict[str, float], dict[str, float]]:
    """Two methods' log-normal values of the same cases, of the same mean: the case brings half of the variance."""
    shared = rng.normal(size=n)
    one, two = ({str(k): float(v) for k, v in enumerate(np.exp((shared + rng.normal(size=n)) / 2**0.5))} for _ in "ab")
    return one, two


def _divergence_gap(rng: Rng, n: int) -> Outcome:
    interval = difference_interval(*divergences(rng, n), scale=None)
    return covers((interval.low, interval.high), 0.0)


def _divergence_test(rng: Rng, n: int) -> Outcome:
    (family,) = comparison_families("m", dict(zip("ab", divergences(rng, n), strict=True)), baseline=None)
    return family.pairs[0].verdict in ("first", "second")


def two_metrics(
    rng: Rng, n: int, *, rho: float, apart: float = 0.0, methods: int = _METHODS
) -> dict[str, dict[str, dict[str, float]]]:
    """Two metrics of n cases under some methods, normal, correlated within each method.

    ``apart`` is how far each method lies from the one before it, in both metrics.
    """
    shared = rng.normal(size=(2, n))
    shift = apart * np.arange(methods)[:, None]
    own = rng.normal(size=(2, methods, n))
    first = shared[0] + own[0]
    second = rho * first + math.sqrt(1 - rho**2) * (shared[1] + own[1])
    return {
        name: {f"m{m}": {str(k): float(values[m, k]) for k in range(n)} for m in range(methods)}
        for name, values in (("one", first + shift), ("two", second + shift))
    }


def spearman_of(rho: float) -> float:
    """Spearman's rho of two normal values with this correlation (Pearson 1907).

    Example:
        >>> round(spearman_of(0.5), 3)
        0.483
    """
    return 6 / math.pi * math.asin(rho / 2)


def _correlated(view: View, rho: float) -> Callable[[Rng, int], Outcome]:
    def once(rng: Rng, n: int) -> Outcome:
        (pair,) = correlate(two_metrics(rng, n, rho=rho), view, resampling=_FEWER).pairs
        return covers((pair.correlation.low, pair.correlation.high), spearman_of(rho))

    return once


def _uncorrelated(view: View, apart: float = 0.0, methods: int = _METHODS) -> Callable[[Rng, int], Outcome]:
    def once(rng: Rng, n: int) -> Outcome:
        values = two_metrics(rng, n, rho=0.0, apart=apart, methods=methods)
        (pair,) = correlate(values, view, resampling=_FEWER).pairs
        return None if pair.correlation.p is None else pair.correlation.p <= 0.05

    return once


def figure_rows() -> Iterator[Row]:
    """Every figure beside its promise; what has no scale is marked as tables mark it."""
    uneven, tokens = "one to eight questions a case, 80 % right", "perplexity, six answers a document, log-normal nats"
    skewed = "log-normal values of two methods on the same cases"
    yield Row("means", uneven, "questions pooled", _pooled(right_answers, SHARE, _RATE), 0.93)
    gap = _pooled_gap(right_answers, SHARE)
    yield Row("means", f"{uneven} by two methods", "difference, questions pooled", gap, 0.93)
    yield Row("means", tokens, "log scale, tokens pooled", _pooled(token_losses, None, _NATS), 0.93)
    yield Row("means", f"{tokens}, two methods", "ratio of perplexities", _pooled_gap(token_losses, None), 0.93)
    yield Row("means", skewed, "difference, Student's t", _divergence_gap, 0.93)
    for rate in (0.05, 0.4, 1.0):
        yield Row("means", f"S-BO, {rate:.0%} of the prompts lose", "bounded by P_before", _bleed_over(rate), 0.93)
    design = "S-BO, all prompts lose, a tenth of them has most of the probability"
    yield Row("means", design, "bounded by P_before", _bleed_over(1.0, uneven=True), 0.93)
    views: list[View] = ["pooled", "within"]
    for view, rho in product(views, (0.0, 0.5)):
        design = f"two metrics, {_METHODS} methods, correlation {rho} within each"
        yield Row("agreement", design, f"Spearman's rho, {view}", _correlated(view, rho), 0.93)
    yield Row("tests", f"{tokens}, equal", "as decided, no scale", _pooled_test(token_losses), 0.06)
    yield Row("tests", skewed, "as decided, no scale", _divergence_test, 0.06)
    none = "two metrics, no correlation"
    yield Row("tests", none, "Spearman, pooled", _uncorrelated("pooled"), 0.06)
    yield Row("tests", f"{none}, methods differ in both", "Spearman, within", _uncorrelated("within", 1.0), 0.06)
    between = _uncorrelated("between", methods=_MANY_METHODS)
    yield Row("tests", f"{none}, {_MANY_METHODS} methods alike", "Spearman, between", between, 0.06)
