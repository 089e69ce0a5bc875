"""Bootstrap intervals that resample what is independent: cases.

Most statistics of the project are functions of sums over cases (means, agreement shares, the coincidence matrix of
alpha). So a resample is a row of counts that says how often each case was drawn, and all resamples together are one
matrix product: counts (resamples, cases) @ sums (cases, m). The same seed draws the same cases whatever the statistic
is, so statistics of one data set are resampled together and can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from curation.stats.estimates import Floats, number_groups
from curation.stats.intervals import LEAST_CASES, NO_SPREAD, varies

_CHUNK = 4_000_000  # numbers held at once: 32 MB
_MOST_UNDEFINED = 0.05  # share of undefined resamples above which an interval would describe the defined ones only
_MOST_UNDEFINED_SPREAD = 1 / 6  # the same where only the spread of the draws is used


class Resampling(NamedTuple):
    """How to resample: number of resamples (0: no interval), seed, and confidence of the percentile interval."""

    resamples: int = 1000
    seed: int = 0
    confidence: float = 0.95

    def describe(self, what: str) -> str:
        """The method of an interval in words."""
        return f"{what}, {self.resamples} resamples, {100 * self.confidence:g} %, seed {self.seed}"


DEFAULT = Resampling()


class IntervalEnds(NamedTuple):
    """Ends of a bootstrap interval, or None and a note that says why."""

    low: float | None
    high: float | None
    note: str


def draw_counts(groups: int, resampling: Resampling, *, width: int | None = None) -> Iterator[Floats]:
    """How often each group is drawn when ``groups`` of them are drawn with replacement, for all resamples.

    Args:
        groups: Number of groups (cases).
        resampling: Resamples and seed.
        width: Numbers that the caller holds per resample, to bound memory; ``groups`` where it is None.

    Yields:
        Arrays (chunk, groups) whose rows sum to ``groups``; their content does not depend on the chunk size.
    """
    rng = np.random.default_rng([resampling.seed, 0])
    chunk = max(1, _CHUNK // max(groups, width or 0, 1))
    for start in range(0, resampling.resamples, chunk):
        size = min(chunk, resampling.resamples - start)
        picks = rng.integers(0, groups, size=(size, groups)) + groups * np.arange(size)[:, None]
        yield np.bincount(picks.ravel(), minlength=size * groups).reshape(size, groups).astype(np.float64)


def bootstrap_sums(sums: Floats, statistic: Callable[[Floats], Floats], resampling: Resampling = DEFAULT) -> Floats:
    """Draws of a statistic that is a function of sums over cases.

    Args:
        sums: Array (cases, m): what each case adds to every sum.
        statistic: Takes sums (resamples, m) and gives values (resamples,), NaN where it is undefined.
        resampling: Resamples and seed.

    Returns:
        Array (resamples,).
    """
    cases, m = sums.shape
    out = [statistic(counts @ sums) for counts in draw_counts(cases, resampling, width=4 * m)]
    return np.concatenate(out) if out else np.empty(0)


def ends(draws: Floats, resampling: Resampling, *, cases: int, most_undefined: float = _MOST_UNDEFINED) -> IntervalEnds:
    """Percentile interval of bootstrap draws.

    None for fewer than five cases, for too many undefined draws, and where resamples differ by rounding at most.
    """
    if draws.size == 0:
        return IntervalEnds(None, None, "no resampling was asked for")
    if cases < LEAST_CASES:
        return IntervalEnds(None, None, f"n = {cases}: too few")
    lost = int(np.isnan(draws).sum())
    if lost > most_undefined * draws.size:
        return IntervalEnds(None, None, f"undefined in {lost} of {draws.size} resamples")
    tail = 100 * (1 - resampling.confidence) / 2
    low, high = np.nanpercentile(draws, [tail, 100 - tail])
    if not varies(float(high - low) ** 2, float(high)):
        return IntervalEnds(None, None, NO_SPREAD)
    return IntervalEnds(
        float(low), float(high), f"undefined in {lost} of {draws.size} resamples, left out" if lost else ""
    )


class Transform(NamedTuple):
    """A scale on which draws of a statistic spread evenly, and the lowest value there is.

    ``to`` takes values and how near to certainty they may come, since both scales end there; ``back`` is its inverse.
    """

    to: Callable[[Floats, float], Floats]
    back: Callable[[float], float]
    lowest: float
    name: str


_NEAREST = 0.999
FISHER = Transform(
    lambda values, nearest: np.asarray(np.arctanh(np.clip(values, -nearest, nearest))),
    math.tanh,
    -1.0,
    "Fisher's scale",
)
DISAGREEMENT = Transform(
    lambda values, nearest: np.asarray(-np.log1p(-np.minimum(values, nearest))),
    lambda y: -math.expm1(-y),
    -1.0,
    "the log of the disagreement",
)


def student_ends_of_draws(
    value: float,
    draws: Floats,
    transform: Transform,
    resampling: Resampling,
    *,
    cases: int,
    nearest: float = _NEAREST,
) -> IntervalEnds:
    """Interval of a coefficient: the spread of its draws on a transformed scale, Student's t, taken back.

    A percentile interval is too narrow for few cases (correlations of 8 cases: 78 to 94 % instead of 95, alpha of 8: 77
    to 88 %); this one holds the truth in 93 % and more (benchmarks/results/coverage.md).

    Args:
        value: The coefficient.
        draws: The same of resamples, (resamples,), NaN where it is undefined.
        transform: ``FISHER`` for correlations, ``DISAGREEMENT`` for agreement beyond chance.
        resampling: Confidence.
        cases: Independent cases; degrees of freedom are one fewer.
        nearest: How near to 1 values are taken, since the scales end there.
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    interval = ends(draws, resampling, cases=cases, most_undefined=_MOST_UNDEFINED_SPREAD)
    if interval.low is None:
        return interval
    spread = float(transform.to(draws[~np.isnan(draws)], nearest).std(ddof=1))
    half = -float(stdtrit(cases - 1, (1 - resampling.confidence) / 2)) * spread
    middle = float(transform.to(np.array([value]), nearest)[0])
    low, high = max(transform.back(middle - half), transform.lowest), transform.back(middle + half)
    return interval._replace(low=min(low, value), high=max(high, value))


def case_means(values: Sequence[float], cases: Sequence[str]) -> dict[str, float]:
    """Mean of each case's values, in order of appearance: what is independent, and what the tables average."""
    data, groups = np.asarray(values, dtype=np.float64), number_groups(cases)
    if data.ndim != 1 or len(groups.of) != data.size:
        raise ValueError("values and cases differ in length")
    if np.isnan(data).any():
        raise ValueError("a value is NaN; leave unscored values out and count them")
    means = np.bincount(groups.of, weights=data) / np.bincount(groups.of)
    return dict(zip(groups.names, means.tolist(), strict=True))
