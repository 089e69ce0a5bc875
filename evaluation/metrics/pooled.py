"""Metrics pooled over questions: right answers over all questions, whatever case they belong to; intervals by case.

The value is a ratio of two sums over cases (Cochran 1977, chapter 6: the ratio estimator), so a case with eight
questions weighs eight times as much as one with one. Questions of one case are not independent: whole cases are drawn
anew (bootstrap), and the variance of these draws gives an interval that stays inside the scale and knows how few cases
there are, as that of case means does (``curation.stats.bounded``). A case without a question of the kind is in no sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from curation.stats.bootstrap import DEFAULT, Resampling, bootstrap_sums
from curation.stats.bounded import PairedSpreads, Scale, Spread, beta_ends, ends_of_difference, student_ends
from curation.stats.estimates import Floats
from curation.stats.intervals import NO_SPREAD, Z95, Interval
from evaluation.metrics.base import CaseMean, Summary, scale_of_unit
from schemas.answers import CaseScores

POOLED = "beta, questions pooled, bootstrap by case"
POOLED_STUDENT = "Student's t, questions pooled, bootstrap by case"


class PooledMean(CaseMean):
    """A metric whose value is the mean over all questions of all cases."""

    pooled: ClassVar[bool] = True

    def summarise(self, scores: Sequence[CaseScores]) -> Summary:
        """Mean over questions with its interval by case, and the counts."""
        sums = [_sums([i.value for i in s.items if i.value is not None]) for s in scores]
        interval = pooled_interval([s for s in sums if s[1]], scale_of_unit(self.unit))
        return self._summary(scores, interval, level="question")


def _sums(values: Sequence[float]) -> tuple[float, float]:
    return float(sum(values)), float(len(values))


def pooled_interval(
    sums: Sequence[tuple[float, float]], scale: Scale | None = (0.0, 1.0), resampling: Resampling = DEFAULT
) -> Interval:
    """Sum over sum, with a 95 % interval from drawing whole cases.

    Args:
        sums: Of every case the sum of its questions' values, and their number (1 or more).
        scale: Lowest and highest possible value of a question; None where there is none (then Student's t).
        resampling: Resamples and seed.

    Example:
        >>> found = pooled_interval([(2.0, 2.0), (0.0, 1.0), (1.0, 1.0)])
        >>> found.mean, found.n, [round(end, 2) for end in found.ends]
        (0.75, 3, [0.13, 1.0])
    """
    if not sums:
        return Interval(None, None, 0)
    table = np.array(sums, dtype=np.float64)
    mean = float(table[:, 0].sum() / table[:, 1].sum())
    if len(table) < 2:
        return Interval(mean, None, 1)
    return _interval(_spread(mean, _draws(table, resampling)[0], len(table)), scale)


def _draws(table: Floats, resampling: Resampling) -> list[Floats]:
    """Draws of every column's sum over the last column's, one array (resamples,) a column but the last."""
    return [bootstrap_sums(table, lambda s, n=n: s[:, n] / s[:, -1], resampling) for n in range(table.shape[1] - 1)]  # type: ignore[misc]


def _spread(mean: float, draws: Floats, cases: int) -> Spread:
    """The mean with the variance of its draws, which n cases drawn from n make too small by (n - 1)/n."""
    return Spread(mean, float(draws.var()) * cases / (cases - 1), cases)


def _interval(spread: Spread, scale: Scale | None) -> Interval:
    half = Z95 * spread.variance**0.5
    if scale is not None:
        return Interval(spread.mean, half, spread.units, beta_ends(spread, scale), POOLED)
    ends = student_ends(spread)
    return Interval(spread.mean, half, spread.units, ends, NO_SPREAD if ends is None else POOLED_STUDENT)


class PooledPair(NamedTuple):
    """What two sides scored of the same questions of a case: both sums, and the number of questions."""

    first: float
    second: float
    questions: float


def common_questions(first: Mapping[str, CaseScores], second: Mapping[str, CaseScores]) -> dict[str, PooledPair]:
    """Sums by case over the questions that both sides have a value for; cases without one are left out."""
    out = {}
    for key, mine in first.items():
        theirs = {i.probe: i.value for i in second[key].items} if key in second else {}
        both = [(i.value, theirs.get(i.probe)) for i in mine.items]
        valued_pairs = [(a, b) for a, b in both if a is not None and b is not None]
        if valued_pairs:
            out[key] = PooledPair(sum(a for a, _ in valued_pairs), sum(b for _, b in valued_pairs), len(valued_pairs))
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
    if len(table) < 2:
        return Interval(gap, None, 1)
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
        Label -> case key -> sum of the case's values times cases over questions.
    """
    valued = {
        label: {(key, i.probe): i.value for key, s in by_case.items() for i in s.items if i.value is not None}
        for label, by_case in scores.items()
    }
    valued = {label: values for label, values in valued.items() if values}
    common = set.intersection(*(set(v) for v in valued.values())) if valued else set()
    cases = {key for key, _ in common}
    out: dict[str, dict[str, float]] = {label: dict.fromkeys(sorted(cases), 0.0) for label in valued}
    for label, values in valued.items():
        for key, probe in common:
            out[label][key] += values[key, probe] * len(cases) / len(common)
    return out
