"""Metrics pooled over questions: right answers over all questions, whatever case they belong to; intervals by case.

The value is a ratio of two sums over cases (Cochran 1977, chapter 6: the ratio estimator), so a case with eight
questions weighs eight times as much as one with one. Questions of one case are not independent: whole cases are drawn
anew (bootstrap), and the variance of these draws gives an interval that stays inside the scale and knows how few cases
there are, as that of case means does (``curation.stats.bounded``). A case without a question of the kind is in no sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from curation.stats.bootstrap import DEFAULT, Resampling, bootstrap_sums
from curation.stats.bounded import PairedSpreads, Scale, Spread, beta_ends, ends_of_difference, student_ends
from curation.stats.estimates import Floats
from curation.stats.intervals import LEAST_CASES, NO_SPREAD, POOLED, Z95, Interval
from evaluation.metrics.base import NEVER_NEGATIVE, Bounds, Metric, Summary, scale_of, within_bounds
from schemas.answers import CaseScores

POOLED_STUDENT = "Student's t moved out by the skewness, questions pooled, bootstrap by case"
PERPLEXITY = "perplexity"
RATIO = "ratio"
"""Units of values that stand on a log scale, and of what two of them differ by."""
_LARGEST = 700.0  # nats a token, beyond which a perplexity is no finite number


class PooledMean(Metric):
    """A metric whose value is the mean over all questions of all cases."""

    pooled: ClassVar[bool] = True

    def summarise(self, scores: Sequence[CaseScores]) -> Summary:
        """Mean over questions with its interval by case, and the counts."""
        sums = [_sums(s) for s in scores]
        interval = pooled_interval([s for s in sums if s[1]], scale_of(self))
        return self._summary(scores, within_bounds(self, interval), level="question")


class PooledPerplexity(PooledMean):
    """Perplexity: exp(sum of negative log-probabilities / sum of tokens) over all questions of all cases.

    Items hold the negative log-probability per token (nats), weighted with the tokens. Intervals are made on the log
    scale; a difference of two perplexities is their ratio. Neither is ever a percentage.
    """

    unit: ClassVar[str] = PERPLEXITY
    bounds: ClassVar[Bounds] = NEVER_NEGATIVE
    better: ClassVar[Literal["higher", "lower"]] = "lower"

    def summarise(self, scores: Sequence[CaseScores]) -> Summary:
        """Perplexity over all tokens with its interval by case, and the counts."""
        interval = exponential(super().summarise(scores).interval, PERPLEXITY)
        return self._summary(scores, interval, level="question")


def exponential(interval: Interval, unit: str) -> Interval:
    """An interval of logarithms as one of what they are the logarithms of; it has no half width.

    Example:
        >>> found = exponential(Interval(0.0, 0.1, 4, (-1.0, 1.0), POOLED_STUDENT), "ratio")
        >>> found.mean, [round(end, 2) for end in found.ends], found.unit
        (1.0, [0.37, 2.72], 'ratio')
    """
    if interval.mean is None:
        return interval._replace(unit=unit)
    ends = None if interval.ends is None else (_exp(interval.ends[0]), _exp(interval.ends[1]))
    kind = f"{interval.kind}, log scale" if ends is not None else interval.kind
    return Interval(_exp(interval.mean), None, interval.n, ends, kind, unit)


def _exp(value: float) -> float:
    return math.exp(value) if value < _LARGEST else math.inf


def _sums(scores: CaseScores) -> tuple[float, float]:
    """Weighted sum of a case's values, and the sum of their weights."""
    scored = [(i.value, i.weight) for i in scores.items if i.value is not None]
    return float(sum(value * weight for value, weight in scored)), float(sum(weight for _, weight in scored))


def pooled_interval(
    sums: Sequence[tuple[float, float]], scale: Scale | None = (0.0, 1.0), resampling: Resampling = DEFAULT
) -> Interval:
    """Sum over sum, with a 95 % interval from drawing whole cases; none for fewer than five cases.

    Args:
        sums: Of every case the sum of its questions' values, and their number (1 or more).
        scale: Lowest and highest possible value of a question; None where there is none (then Student's t).
        resampling: Resamples and seed.

    Example:
        >>> found = pooled_interval([(2.0, 2.0), (0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (2.0, 2.0)])
        >>> found.mean, found.n, [round(end, 2) for end in found.ends]
        (0.75, 5, [0.24, 0.99])
    """
    if not sums:
        return Interval(None, None, 0)
    table = np.array(sums, dtype=np.float64)
    mean = float(table[:, 0].sum() / table[:, 1].sum())
    if len(table) < LEAST_CASES:
        return Interval(mean, None, len(table))
    return _interval(_spread(mean, _draws(table, resampling)[0], len(table)), scale)


def _draws(table: Floats, resampling: Resampling) -> list[Floats]:
    """Draws of every column's sum over the last column's, one array (resamples,) a column but the last."""
    return [bootstrap_sums(table, lambda s, n=n: s[:, n] / s[:, -1], resampling) for n in range(table.shape[1] - 1)]  # type: ignore[misc]


def _spread(mean: float, draws: Floats, cases: int) -> Spread:
    """The mean with the moments of its draws, which n cases drawn from n make too small by (n - 1)/n and more."""
    off, freedom = draws - draws.mean(), cases - 1
    third = float((off**3).mean()) * cases**2 / (freedom * max(freedom - 1, 1))
    return Spread(mean, float(draws.var()) * cases / freedom, cases, third=third)


def _interval(spread: Spread, scale: Scale | None) -> Interval:
    half, cases = Z95 * spread.variance**0.5, int(spread.units)
    if scale is not None:
        return Interval(spread.mean, half, cases, beta_ends(spread, scale), POOLED)
    ends = student_ends(spread)
    return Interval(spread.mean, half, cases, ends, NO_SPREAD if ends is None else POOLED_STUDENT)


class PooledPair(NamedTuple):
    """What two sides scored of the same questions of a case: both weighted sums, and the sum of the weights."""

    first: float
    second: float
    questions: float


def common_questions(first: Mapping[str, CaseScores], second: Mapping[str, CaseScores]) -> dict[str, PooledPair]:
    """Sums by case over the questions that both sides have a value for; cases without one are left out."""
    out = {}
    for key, mine in first.items():
        theirs = {i.probe: i.value for i in second[key].items} if key in second else {}
        both = [(i.value, theirs.get(i.probe), i.weight) for i in mine.items]
        valued_pairs = [(a * w, b * w, w) for a, b, w in both if a is not None and b is not None]
        if valued_pairs:
            out[key] = PooledPair(*(sum(column) for column in zip(*valued_pairs, strict=True)))
    return out


def pooled_difference(
    first: Mapping[str, CaseScores],
    second: Mapping[str, CaseScores],
    scale: Scale | None = (0.0, 1.0),
    resampling: Resampling = DEFAULT,
) -> Interval:
    """Mean of ``first - second`` over the questions that both scored, with a 95 % interval from drawing whole cases.

    Both sides are drawn together, so that what makes a case easy for both cancels.

    Args:
        first: Scores by case.
        second: The same of the other side.
        scale: Lowest and highest possible value of a question; None where there is none.
        resampling: Resamples and seed.
    """
    pairs = list(common_questions(first, second).values())
    if not pairs:
        return Interval(None, None, 0)
    table = np.array([(p.first, p.second, p.first - p.second, p.questions) for p in pairs], dtype=np.float64)
    one, two, gap = (float(v) for v in table[:, :3].sum(axis=0) / table[:, 3].sum())
    if len(table) < LEAST_CASES:
        return Interval(gap, None, len(table))
    sides = [_spread(m, d, len(table)) for m, d in zip((one, two, gap), _draws(table, resampling), strict=True)]
    if scale is None:
        return _interval(sides[2], None)
    ends = ends_of_difference(PairedSpreads(*sides), scale, 0.025)
    return Interval(gap, Z95 * sides[2].variance ** 0.5, len(table), ends, POOLED)


def contributions(scores: Mapping[str, Mapping[str, CaseScores]]) -> dict[str, dict[str, float]]:
    """What every case adds to each method's pooled value: numbers whose plain mean over cases is that value.

    So tests of a mean over cases test the pooled value. Only questions that all methods have a value for count; a
    method without any value is left out.

    Args:
        scores: Label -> case key -> scores.

    Returns:
        Label -> case key -> sum of the case's weighted values times cases over weights.
    """
    valued = {
        label: {(key, i.probe): i.value for key, s in by_case.items() for i in s.items if i.value is not None}
        for label, by_case in scores.items()
    }
    weights = {(key, i.probe): i.weight for some in scores.values() for key, s in some.items() for i in s.items}
    valued = {label: values for label, values in valued.items() if values}
    common = (
        sorted(set.intersection(*(set(v) for v in valued.values()))) if valued else []
    )  # sums are added in one order
    cases, total = {key for key, _ in common}, sum(weights[place] for place in common)
    out: dict[str, dict[str, float]] = {label: dict.fromkeys(sorted(cases), 0.0) for label in valued}
    for label, values in valued.items():
        for key, probe in common:
            out[label][key] += values[key, probe] * weights[key, probe] * len(cases) / total
    return out
