"""Means of methods had everybody rated everything: severity is told from what several people rated, and taken out.

On an aspect a rating is the method's effect and the case's, less the person's severity, in points of the scale. Effects
are those of least squares within cases. Their variance is that of a jackknife over cases; on a scale it makes intervals
as that of other means does (``curation.stats.bounded``): near its end, Student's held the truth in 68 to 87 %.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student  # type: ignore[import-untyped]

from curation.stats.bounded import PairedSpreads, Scale, Spread, beta_ends, ends_of_difference
from curation.stats.estimates import Estimate, Floats, connected_groups
from curation.stats.intervals import LEAST_CASES
from schemas.core.errors import UserError

MODEL = "additive severity, jackknife over cases, 95 %"
_TAIL = 0.025  # of such an interval, at each end


class ScaleRating(NamedTuple):
    """One rating: ``person`` gave ``value`` to ``item`` (of ``case``, made by ``method``) on ``aspect``."""

    item: str
    case: str
    method: str
    person: str
    aspect: str
    value: int


class MethodDifference(NamedTuple):
    """How much higher ``first`` is rated than ``second`` on an aspect."""

    aspect: str
    first: str
    second: str
    difference: Estimate

    @property
    def width(self) -> float:
        """Of the interval, in points of the scale."""
        assert self.difference.low is not None and self.difference.high is not None
        return self.difference.high - self.difference.low


class SeverityReport(NamedTuple):
    """What the ratings say of methods and people.

    Attributes:
        means: By aspect and method, in points of the scale: the mean rating had every person rated every item.
        raw: The plain means of the ratings that there are.
        differences: Every two methods on every aspect.
        severity: By person, in points below the panel's mean, over aspects: a positive one rates lower than the others.
        ratings: How many there are.
        cases: How many cases they are of.
    """

    means: dict[tuple[str, str], Estimate]
    raw: dict[tuple[str, str], float]
    differences: tuple[MethodDifference, ...]
    severity: dict[str, Estimate]
    ratings: int
    cases: int

    @property
    def widest(self) -> float:
        """Width of the widest interval of a difference; 0 where there is one method."""
        return max((d.width for d in self.differences), default=0.0)

    def reached(self, width: float) -> bool:
        """Whether the interval of every difference is narrower than ``width``; never where there is one method."""
        return bool(self.differences) and self.widest < width


class _CaseSums(NamedTuple):
    """Least squares of an aspect, by case; the columns are methods, then persons with a minus.

    Attributes:
        products: Products of the columns within the case (cases, columns, columns).
        sides: Products of the columns and the ratings (cases, columns).
        means: Mean rating (cases).
        shares: Mean of the columns (cases, columns).
        rated: Whether the case has ratings (cases).
    """

    products: Floats
    sides: Floats
    means: Floats
    shares: Floats
    rated: Floats

    def estimate(self, methods: int, without: int | None = None) -> Floats:
        """Means of the methods, then severities, which sum to 0; of all cases, or of all but one."""
        keep = np.ones(len(self.means)) if without is None else np.arange(len(self.means)) != without
        effects = np.linalg.lstsq(np.tensordot(keep, self.products, 1), keep @ self.sides, rcond=None)[0]
        level = np.average(self.means - self.shares @ effects, weights=keep * self.rated)
        return np.concatenate([level + effects[:methods], effects[methods:]])


def severity_report(ratings: Sequence[ScaleRating], scales: Mapping[str, Scale] | None = None) -> SeverityReport:
    """Means of methods corrected for severity, with intervals over cases.

    Args:
        ratings: At most one of a person, item and aspect.
        scales: Ends of the scale by aspect; Student's interval where an aspect has none.

    Raises:
        UserError: severity cannot be told from these ratings (see ``refuse_inestimable``).

    Example:
        >>> rows = [ScaleRating(f"{c}{m}", c, m, p, "a", (ord(c) + 2 * (m == "x") + (p == "q")) % 4 + 1)
        ...         for c in "abcdef" for m in "xy" for p in "pq"]
        >>> found = severity_report(rows)
        >>> sorted(found.severity), len(found.differences), found.ratings
        (['p', 'q'], 1, 24)
    """
    refuse_inestimable(ratings)
    cases, methods = sorted({r.case for r in ratings}), sorted({r.method for r in ratings})
    persons, aspects = sorted({r.person for r in ratings}), sorted({r.aspect for r in ratings})
    sums = [_sums([r for r in ratings if r.aspect == aspect], cases, methods, persons) for aspect in aspects]
    whole = np.stack([one.estimate(len(methods)) for one in sums])
    left = np.stack([[one.estimate(len(methods), case) for one in sums] for case in range(len(cases))])
    apart = left - left.mean(axis=0)  # (cases, aspects, methods and persons)
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for r in ratings:
        counts[r.aspect, r.method].append(r.value)

    def spread_of(value: float, others: Floats) -> Spread:
        return Spread(value, (len(cases) - 1) / len(cases) * float(np.sum(others**2)), len(cases))

    def estimate(name: str, spread: Spread, ends: Scale | None, n: int = 0) -> Estimate:
        half = float(student.ppf(1 - _TAIL, len(cases) - 1)) * spread.variance**0.5
        low, high = ends or (spread.mean - half, spread.mean + half)
        return Estimate(name, spread.mean, low, high, n=n, cases=len(cases), method=MODEL)

    means, differences = {}, []
    for a, aspect in enumerate(aspects):
        scale = (scales or {}).get(aspect)
        low, high = scale or (-np.inf, np.inf)
        values = np.clip(whole[a, : len(methods)], low, high).tolist()
        spreads = [spread_of(value, apart[:, a, m]) for m, value in enumerate(values)]
        for method, spread in zip(methods, spreads, strict=True):
            ends = None if scale is None else beta_ends(spread, scale, tail=_TAIL)
            means[aspect, method] = estimate(method, spread, ends, len(counts[aspect, method]))
        for m, n in itertools.combinations(range(len(methods)), 2):
            both = len(counts[aspect, methods[m]]) + len(counts[aspect, methods[n]])
            gap = spread_of(values[m] - values[n], apart[:, a, m] - apart[:, a, n])
            sides = PairedSpreads(spreads[m], spreads[n], gap)
            ends = None if scale is None else ends_of_difference(sides, scale, _TAIL)
            difference = estimate(f"{methods[m]} - {methods[n]}", gap, ends, both)
            differences.append(MethodDifference(aspect, methods[m], methods[n], difference))
    severity = {
        person: estimate(person, spread_of(float(whole[:, place].mean()), apart[:, :, place].mean(axis=1)), None)
        for place, person in enumerate(persons, len(methods))
    }
    raw = {key: float(np.mean(values)) for key, values in counts.items()}
    return SeverityReport(means, raw, tuple(differences), severity, len(ratings), len(cases))


def _sums(
    ratings: Sequence[ScaleRating], cases: Sequence[str], methods: Sequence[str], persons: Sequence[str]
) -> _CaseSums:
    """The sums of one aspect."""
    width = len(methods) + len(persons)
    sums = _CaseSums(
        products=np.zeros((len(cases), width, width)),
        sides=np.zeros((len(cases), width)),
        means=np.zeros(len(cases)),
        shares=np.zeros((len(cases), width)),
        rated=np.zeros(len(cases)),
    )
    for c, case in enumerate(cases):
        mine = [r for r in ratings if r.case == case]
        if not mine:
            continue
        values, columns = np.array([r.value for r in mine], dtype=np.float64), np.zeros((len(mine), width))
        for row, r in enumerate(mine):
            columns[row, methods.index(r.method)] = 1
            columns[row, len(methods) + persons.index(r.person)] = -1
        sums.means[c], sums.shares[c], sums.rated[c] = values.mean(), columns.mean(axis=0), 1
        centred = columns - sums.shares[c]
        sums.products[c], sums.sides[c] = centred.T @ centred, centred.T @ (values - values.mean())
    return sums


def refuse_inestimable(ratings: Sequence[ScaleRating]) -> None:
    """Refuse ratings from which severity cannot be told.

    Raises:
        UserError: nobody or one person rated, people share no items, methods share no cases or one alone, an
            aspect has one value, a method has no rating on it or those of one case only, or there are fewer than five
            cases; the sentence says which, and what helps.
    """
    persons = sorted({r.person for r in ratings})
    if len(persons) < 2:
        who = f"{persons[0]} alone rated" if persons else "nobody has rated yet"
        raise UserError(
            f"severity cannot be told: {who}", allowed="two people or more", fix="have another person rate some items"
        )
    if (count := len({r.case for r in ratings})) < LEAST_CASES:
        raise UserError(f"n = {count}: too few", allowed=f"{LEAST_CASES} cases or more", fix="have more cases rated")
    for aspect in sorted({r.aspect for r in ratings}):
        mine = [r for r in ratings if r.aspect == aspect]
        groups = connected_groups({p: [r.item for r in mine if r.person == p] for p in {r.person for r in mine}})
        if len(groups) > 1:
            raise UserError(
                f"severity cannot be told: these people share no items with one another: {_names_of(groups)}",
                fix="have one of each rate some items of the others",
            )
        _refuse_methods_apart(mine)
        if len({r.value for r in mine}) < 2:
            raise UserError(
                f"'{aspect}' has no variance: all {len(mine)} ratings are {mine[0].value}",
                fix="leave it out, or rate items that differ",
            )
        for method in sorted({r.method for r in ratings}):
            if len({r.case for r in mine if r.method == method}) < 2:
                raise UserError(f"'{aspect}' has ratings of {method} in fewer than two cases", fix="rate more of them")


def _refuse_methods_apart(ratings: Sequence[ScaleRating]) -> None:
    """Refuse methods of an aspect that no case links, or one alone: a jackknife without it could not compare them."""
    cases: defaultdict[str, set[str]] = defaultdict(set)
    for r in ratings:
        cases[r.method].add(r.case)
    for without in ("", *sorted({r.case for r in ratings})):
        groups = connected_groups({method: sorted(rated - {without}) for method, rated in cases.items()})
        if len(groups) > 1:
            but = f" but '{without}'" if without else ""
            raise UserError(
                f"methods cannot be compared on '{ratings[0].aspect}': these share no case{but}: {_names_of(groups)}",
                fix="have scripts of both rated on the same cases",
            )


def _names_of(groups: Sequence[Sequence[str]]) -> str:
    return "; ".join(", ".join(group) for group in groups)
