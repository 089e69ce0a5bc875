"""Intervals of means of bounded values (rates, ratings) for few cases: within the scale, and as wide as n demands.

The interval of a share of a survey (Korn and Graubard 1998), taken over to means: the exact (Clopper-Pearson, beta)
interval of as many independent yes-or-no answers as would vary like the mean does. It is asymmetric near the ends of
the scale and stays inside; where every case is a single yes or no it is the exact one. The variance seen is drawn a
little towards the largest possible one, by the weight of one case: few cases that agree say little of how cases vary.
Two clusterings at once (cases and neighbours) only change the variance and the number of independent units.

Where nearly all cases agree and a rare one lies far away, a sample that missed it looks certain. So no end is nearer
than the one that a further case, as far away as the scale allows, would leave (Gaffke 2005; Learned-Miller and Thomas
2020), with a beta distribution of the same mean and variance, at twice the chance left out: chosen by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from curation.stats.bootstrap import case_means
from curation.stats.estimates import Estimate, Floats, number_groups, undefined
from curation.stats.intervals import (
    BY_CASE,
    LEAST_CASES,
    NO_SPREAD,
    STUDENT,
    TWO_WAY,
    Interval,
    end_with_unseen_case,
    mean_interval,
    skew_shift,
    varies,
)

Scale = tuple[float, float]
SHARE: Scale = (0.0, 1.0)
_PRIOR = 1.0  # cases' worth of the largest possible variance
_ROUNDING = 1e-12
_TAIL = 0.025  # of a 95 % interval, at each end
_HALVINGS = 40  # of the interval in which the logarithm of a p is sought
_LEAST_P, _MOST_P = 1e-9, 0.999
_SHIFTS, _MORE_SHIFTS = 2.0, 30.0  # of Student's interval for skewness, in all and per case; by simulation


class Spread(NamedTuple):
    """A mean, its variance, and the number of independent units behind both.

    Attributes:
        mean: The mean.
        variance: Of the mean.
        units: Independent units.
        crossed: Whether neighbours recur.
        third: Third central moment of the mean; 0 where it is not known.
        parts: Of values with limits: the share of their limits that they reach, the mean limit, the largest one.
    """

    mean: float
    variance: float
    units: float
    crossed: bool = False
    third: float = 0.0
    parts: tuple[Spread, Spread, float] | None = None


class PairedItem(NamedTuple):
    """A prompt that both sides answered: its case, its neighbour (None: has none), both values, and their limit."""

    case: str
    neighbour: str | None
    first: float
    second: float
    limit: float | None = None


def spread_of(values: Sequence[float]) -> Spread:
    """Of independent values, one a case."""
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((v - mean) ** 2 for v in values) / max(n - 1, 1) / n
    third = math.fsum((v - mean) ** 3 for v in values) / max(n - 1, 1) / max(n - 2, 1) / n
    return Spread(mean, variance, n, third=third)


def clustered_spread(values: Sequence[float], cases: Sequence[str], neighbours: Sequence[str | None] = ()) -> Spread:
    """Of a mean of case means: two-way where neighbours recur in several cases, else by case."""
    if neighbours and recurs(cases, neighbours):
        return crossed_spread(values, cases, [str(n) for n in neighbours])
    return spread_of(list(case_means(values, cases).values()))


def limited_spread(
    values: Sequence[float], limits: Sequence[float], cases: Sequence[str], neighbours: Sequence[str | None] = ()
) -> Spread:
    """Of a mean of case means of values from 0 to a known limit each, such as the probability before the edit.

    The mean is the mean limit times the share of the limits that is reached, a ratio (Cochran 1977, chapter 6). Cases
    with small limits tell little of that share, so it rests on (sum of limits)² / (sum of squared limits) cases.
    """
    whole, limit = (clustered_spread(side, cases, neighbours) for side in (values, limits))
    by_case = case_means(limits, cases).values()
    if not limit.mean > 0:
        return whole
    share = whole.mean / limit.mean
    rest = clustered_spread([v - share * m for v, m in zip(values, limits, strict=True)], cases, neighbours)
    worth = math.fsum(by_case) ** 2 / math.fsum(m * m for m in by_case)
    reached = Spread(share, rest.variance / limit.mean**2, max(2.0, min(worth, rest.units)), rest.crossed)
    return whole._replace(parts=(reached, limit, max(limits)))


def recurs(cases: Sequence[str], neighbours: Sequence[str | None]) -> bool:
    """Whether a neighbour serves in two cases or more; no where a value has no neighbour.

    Example:
        >>> recurs(["a", "a", "b"], ["x", "x", "y"]), recurs(["a", "b"], ["x", "x"])
        (False, True)
    """
    homes: dict[str, str] = {}
    if any(n is None for n in neighbours):
        return False
    return any(homes.setdefault(str(n), c) != c for c, n in zip(cases, neighbours, strict=True))


def crossed_spread(values: Sequence[float], cases: Sequence[str], neighbours: Sequence[str]) -> Spread:
    """Mean of case means where neighbours recur: V(case) + V(neighbour) - V(both), and no less than either alone."""
    data, rows, columns = np.asarray(values, dtype=np.float64), number_groups(cases), number_groups(neighbours)
    share = 1.0 / (len(rows.names) * np.bincount(rows.of)[rows.of])
    mean = float((data * share).sum())
    influence = (data - mean) * share
    pair = rows.of * len(columns.names) + columns.of
    by_case, by_neighbour = (_clustered(influence, g.of, len(g.names)) for g in (rows, columns))
    _, both = np.unique(pair, return_inverse=True)
    by_both = _clustered(influence, both, int(both.max()) + 1)
    variance = max(by_case + by_neighbour - by_both, by_case, by_neighbour)
    return Spread(mean, variance, min(len(rows.names), len(columns.names)), True)


def _clustered(influence: Floats, index: np.ndarray[tuple[int], np.dtype[np.int64]], groups: int) -> float:
    totals = np.bincount(index, weights=influence, minlength=groups)
    return float((totals**2).sum() * groups / max(groups - 1, 1))


def beta_ends(spread: Spread, scale: Scale = SHARE, *, tail: float = _TAIL) -> Scale | None:
    """Ends of the interval of a mean on a scale; None where there is a single unit.

    ``tail`` is the chance left out at each end: 0.025 for 95 %.

    Example:
        >>> [round(end, 3) for end in beta_ends(spread_of([1.0] * 12))]
        [0.735, 1.0]
        >>> [round(end, 2) for end in beta_ends(spread_of([7.0, 7.0, 7.0, 7.0, 6.0, 7.0]), (1.0, 7.0))]
        [4.56, 7.0]
    """
    from scipy.special import betaincinv, ndtri, stdtrit  # type: ignore[import-untyped]

    if spread.parts is not None:
        return _limited_ends(spread, spread.parts, tail)
    wide, units = scale[1] - scale[0], spread.units
    if units < 2:
        return None
    share = min(max((spread.mean - scale[0]) / wide, 0.0), 1.0)
    share = float(round(share)) if abs(share - round(share)) < _ROUNDING else share
    largest = share * (1 - share)
    raw = spread.variance / wide**2 * units / largest if largest > 0 and varies(spread.variance, spread.mean) else 1.0
    ratio = ((units - 1) * raw + _PRIOR) / (units - 1 + _PRIOR)
    worth = units / ratio * (float(ndtri(tail)) / float(stdtrit(units - 1, tail))) ** 2
    worth = max(worth, units / max(ratio, 1.0) if spread.crossed else units)
    hits = share * worth
    low = float(betaincinv(hits, worth - hits + 1, tail)) if share > 0 else 0.0
    high = float(betaincinv(hits + 1, worth - hits, 1 - tail)) if share < 1 else 1.0
    ends = [end_with_unseen_case(share, spread.variance / wide**2, units, end, 2 * tail) for end in (0, 1)]
    low, high = min(low, ends[0]), max(high, ends[1])
    return scale[0] + wide * min(low, share), scale[0] + wide * max(high, share)


def _limited_ends(spread: Spread, parts: tuple[Spread, Spread, float], tail: float) -> Scale | None:
    """Ends of a product of two means, the share of the limits and the mean limit, from those of both (MOVER)."""
    share, limit, largest = parts
    shares = beta_ends(share, SHARE, tail=tail)
    limits = beta_ends(limit, (0.0, largest), tail=tail)
    if shares is None or limits is None:
        return None
    low = 0.0
    if min(shares[0], limits[0]) > 0:
        low = spread.mean * math.exp(-math.hypot(math.log(share.mean / shares[0]), math.log(limit.mean / limits[0])))
    up = math.hypot(limit.mean * (shares[1] - share.mean), shares[1] * (limits[1] - limit.mean))
    return low, min(spread.mean + up, 1.0)


def student_ends(spread: Spread, tail: float = _TAIL) -> Scale | None:
    """Student's interval, its end on the longer tail's side moved out by the skewness; None where nothing varies.

    Few cases show too little of a long tail, so the shift counts several times, the more the fewer cases there are.
    """
    from scipy import stats  # type: ignore[import-untyped]

    if spread.units < 2 or not varies(spread.variance, spread.mean):
        return None
    t, error = float(stats.t.ppf(1 - tail, spread.units - 1)), math.sqrt(spread.variance)
    shift = (_SHIFTS + _MORE_SHIFTS / spread.units) * skew_shift(spread.third, error, t)
    return spread.mean - t * error + min(shift, 0.0), spread.mean + t * error + max(shift, 0.0)


def bounded_interval(values: Sequence[float], scale: Scale | None = SHARE) -> Interval:
    """Mean of independent values (one a case) with the default 95 % interval; ``half`` stays the published one.

    Where there is no scale it is Student's t. Fewer than five values have no interval.

    Example:
        >>> [round(end, 3) for end in bounded_interval([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]).ends]
        [0.359, 0.996]
    """
    return clustered_interval(values, [str(n) for n in range(len(values))], scale=scale)


def clustered_interval(
    values: Sequence[float],
    cases: Sequence[str],
    neighbours: Sequence[str | None] = (),
    scale: Scale | None = SHARE,
    *,
    limits: Sequence[float] = (),
    tail: float = _TAIL,
) -> Interval:
    """Mean of case means with its default interval: two-way where neighbours recur in several cases, else by case.

    Args:
        values: One value a prompt.
        cases: The case of each value.
        neighbours: The neighbour of each value, None where it has none; empty where no value has one.
        scale: Lowest and highest possible mean of a case; None where there are none.
        limits: The largest possible value of each prompt, of values from 0 to 1; empty where none is known.
        tail: Chance left out at each end.
    """
    means = list(case_means(values, cases).values())
    published = mean_interval(means)
    if len(means) < LEAST_CASES:
        return published
    scale = _scale_if_valid(scale, means)
    spread = clustered_spread(values, cases, neighbours)
    if limits:
        spread = limited_spread(values, limits, cases, neighbours)
    ends = student_ends(spread, tail) if scale is None else beta_ends(spread, scale, tail=tail)
    return published._replace(ends=ends, kind=_kind(spread, scale, ends))


def case_mean_estimate(
    name: str, values: Sequence[float], cases: Sequence[str], scale: Scale | None = None
) -> Estimate:
    """Mean of case means with its default interval; without a scale none where all cases agree.

    Example:
        >>> case_mean_estimate("gap", [1.0, 3.0, 2.0, 2.5, 1.5, 2.0], list("aabcde")).text(2)
        '2.00 [1.56, 2.44]'
    """
    if not values:
        return undefined(name, "there is no value")
    means = list(case_means(values, cases).values())
    interval = bounded_interval(means, scale)
    known = interval.ends is not None
    note = interval.missing
    method = f"95 %: {interval.kind}" if known else ""
    low, high = interval.ends or (None, None)
    return Estimate(name, interval.mean, low, high, len(values), len(means), method, note=note)


def _scale_if_valid(scale: Scale | None, values: Iterable[float]) -> Scale | None:
    """The scale, if all values lie on it."""
    return scale if scale is not None and all(scale[0] <= v <= scale[1] for v in values) else None


def _kind(spread: Spread, scale: Scale | None, ends: Scale | None) -> str:
    if scale is None:
        return NO_SPREAD if ends is None else STUDENT
    return TWO_WAY if spread.crossed else BY_CASE


class PairedSpreads(NamedTuple):
    """Spreads of both sides of a difference, and of the difference itself."""

    one: Spread
    two: Spread
    gap: Spread


class _Difference:
    """Mean of ``first - second`` over the cases that both have.

    On a scale its ends are put together from those of both sides and their correlation (Newcombe 1998, Zou and Donner
    2008), the correlation drawn a little towards none; without one they are Student's. Where neighbours recur in
    ``items``, all variances are two-way.
    """

    def __init__(
        self,
        first: Mapping[str, float],
        second: Mapping[str, float],
        scale: Scale | None,
        items: Sequence[PairedItem],
    ) -> None:
        keys = sorted(first.keys() & second.keys())
        a, b = [first[k] for k in keys], [second[k] for k in keys]
        self.gaps = [x - y for x, y in zip(a, b, strict=True)]
        self.on_scale = _scale_if_valid(scale, [*a, *b]) is not None
        self.scale = scale if self.on_scale else None
        if len(keys) < 2:
            return
        self.mean = math.fsum(self.gaps) / len(keys)
        shared = [i for i in items if i.case in first and i.case in second]
        self.sides = _paired_spreads(a, b, self.gaps, shared)

    def ends(self, tail: float) -> Scale | None:
        """Ends of the interval, moved to the difference of case means, within the scale; None for a single case."""
        if len(self.gaps) < 2:
            return None
        if self.scale is None:
            return student_ends(self.sides.gap._replace(mean=self.mean), tail)
        ends = ends_of_difference(self.sides, self.scale, tail)
        if ends is None:
            return None
        shift, wide = self.mean - (self.sides.one.mean - self.sides.two.mean), self.scale[1] - self.scale[0]
        return max(ends[0] + shift, -wide), min(ends[1] + shift, wide)


def _paired_spreads(
    first: Sequence[float], second: Sequence[float], gaps: Sequence[float], items: Sequence[PairedItem]
) -> PairedSpreads:
    """Of both sides and of their difference: from the prompts where these say more than the cases do."""
    cases, near = [i.case for i in items], [i.neighbour for i in items]
    limits = [i.limit for i in items if i.limit is not None]
    if not items or not (recurs(cases, near) or len(limits) == len(items)):
        return PairedSpreads(*(spread_of(values) for values in (first, second, gaps)))
    one, two = [i.first for i in items], [i.second for i in items]
    gap = clustered_spread([x - y for x, y in zip(one, two, strict=True)], cases, near)
    if len(limits) == len(items):
        return PairedSpreads(limited_spread(one, limits, cases, near), limited_spread(two, limits, cases, near), gap)
    return PairedSpreads(clustered_spread(one, cases, near), clustered_spread(two, cases, near), gap)


def difference_interval(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    scale: Scale | None = SHARE,
    items: Sequence[PairedItem] = (),
) -> Interval:
    """Mean of ``first - second`` over the cases that both have, with its default interval; ``half``: the published one.

    Args:
        first: Value by case.
        second: The same of the other side.
        scale: Of the values; None where there is none (then Student's t of the differences).
        items: The prompts behind the values; empty where none has a neighbour or a limit.
    """
    difference = _Difference(first, second, scale, items)
    published = mean_interval(difference.gaps)
    if len(difference.gaps) < LEAST_CASES:
        return published
    ends = difference.ends(_TAIL)
    return published._replace(ends=ends, kind=_kind(difference.sides.gap, difference.scale, ends))


def difference_p(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    scale: Scale | None = SHARE,
    items: Sequence[PairedItem] = (),
) -> float | None:
    """Two-sided p that the mean difference is 0: the level at which its default interval begins to hold 0.

    It allows for large differences that were not drawn, as the interval does, so it is no smaller than what n cases on
    that scale can show. None for fewer than two common cases, where a value lies off the scale, and where differences
    without a scale do not vary.

    Args:
        first: Value by case.
        second: The same of the other side.
        scale: Lowest and highest possible value; None where there is none.
        items: The prompts behind the values.

    Example:
        >>> ones, noughts = (dict.fromkeys("abcdef", v) for v in (1.0, 0.0))
        >>> difference_p(ones, noughts) < 0.05, difference_p(ones, dict.fromkeys("abcdef", 0.95)) > 0.3
        (True, True)
    """
    difference = _Difference(first, second, scale, items)
    if scale is not None and not difference.on_scale:
        return None
    low, high = math.log(_LEAST_P), math.log(_MOST_P)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        ends = difference.ends(math.exp(middle) / 2)
        if ends is None:
            return None
        low, high = (middle, high) if ends[0] <= _ROUNDING and ends[1] >= -_ROUNDING else (low, middle)
    return 1.0 if math.exp(high) >= _MOST_P else math.exp(high)


def difference_reach(
    first: Mapping[str, float],
    second: Mapping[str, float],
    level: float,
    *,
    scale: Scale | None = SHARE,
    items: Sequence[PairedItem] = (),
) -> float | None:
    """How far the interval of a difference reaches to its longer side: a smaller difference would not exclude 0.

    ``level`` is two-sided, 0.05 for a 95 % interval; the rest is as for ``difference_p``. None where there is none.

    Example:
        >>> ones, noughts = (dict.fromkeys("abcdef", v) for v in (1.0, 0.0))
        >>> round(difference_reach(ones, noughts, 0.05), 3)
        0.649
    """
    difference = _Difference(first, second, scale, items)
    ends = None if scale is not None and not difference.on_scale else difference.ends(level / 2)
    return None if ends is None else max(difference.mean - ends[0], ends[1] - difference.mean)


def ends_of_difference(sides: PairedSpreads, scale: Scale, tail: float) -> Scale | None:
    """Ends of a difference of means from those of both, by how they vary together."""
    one, two, variance = sides.one, sides.two, sides.gap.variance
    left, right = (beta_ends(side, scale, tail=tail) for side in (one, two))
    if left is None or right is None:
        return None
    r = 0.0
    if varies(one.variance, one.mean) and varies(two.variance, two.mean):
        r = (one.variance + two.variance - variance) / (2 * math.sqrt(one.variance * two.variance))
        r = min(max(r, -1.0), 1.0) * one.units / (one.units + 2)
    gap = one.mean - two.mean
    down, up = (one.mean - left[0], right[1] - two.mean), (left[1] - one.mean, two.mean - right[0])
    low, high = (math.sqrt(max(x * x - 2 * r * x * y + y * y, 0.0)) for x, y in (down, up))
    return gap - low, gap + high
