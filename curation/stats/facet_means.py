"""Means of methods as a panel would give them, corrected for severity, with intervals; persons' severities."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]
from scipy.stats import t as student  # type: ignore[import-untyped]

from curation.stats.estimates import Estimate, Floats
from curation.stats.facets import FacetFit, FacetRating, facet_design, fit_facets

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
MODEL = "many-facet ordinal model, 95 %"


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


class FacetReport(NamedTuple):
    """What the model says.

    Attributes:
        means: By aspect and method, in points of the scale: the mean rating had every person rated every item.
        raw: The plain means of the ratings that there are.
        differences: Every two methods on every aspect.
        severity: By person, in logits above the panel's mean: a positive one rates lower than the others.
        ratings: How many there are.
        cases: How many cases they are of.
        converged: Whether the fit came to rest.
    """

    means: dict[tuple[str, str], Estimate]
    raw: dict[tuple[str, str], float]
    differences: tuple[MethodDifference, ...]
    severity: dict[str, Estimate]
    ratings: int
    cases: int
    converged: bool

    @property
    def widest(self) -> float:
        """Width of the widest interval of a difference; 0 where there is one method."""
        return max((d.width for d in self.differences), default=0.0)

    def reached(self, width: float) -> bool:
        """Whether the interval of every difference is narrower than ``width``; never where there is one method."""
        return bool(self.differences) and self.widest < width


def facet_report(ratings: Sequence[FacetRating]) -> FacetReport:
    """Means of methods corrected for severity, with intervals (t, cases less one degrees of freedom).

    Raises:
        UserError: severity cannot be told from these ratings (see ``refuse_inestimable``).

    Example:
        >>> rows = [FacetRating(f"{c}{m}", c, m, p, "a", (ord(c) + 2 * (m == "x") + (p == "q")) % 4 + 1)
        ...         for c in "abcdef" for m in "xy" for p in "pq"]
        >>> found = facet_report(rows)
        >>> sorted(found.severity), len(found.differences), found.ratings
        (['p', 'q'], 1, 24)
    """
    ordered = sorted(ratings)
    return report_of_fit(fit_facets(facet_design(ordered)), ordered)


def report_of_fit(fit: FacetFit, ratings: Sequence[FacetRating]) -> FacetReport:
    """The report of a model that is fitted already, of these ratings."""
    d, cases = fit.design, len(fit.design.cases.names)
    counts: dict[tuple[str, str], list[int]] = {}
    for r in ratings:
        counts.setdefault((r.aspect, r.method), []).append(r.value)
    means, gradients = {}, {}
    for a, aspect in enumerate(d.aspects):
        for m, method in enumerate(d.methods):
            value, gradient, by_spread = _mean(fit, a, m)
            means[aspect, method] = value
            gradients[aspect, method] = np.concatenate([gradient, by_spread])
    covariance = _with_spread(fit)

    def estimate(name: str, value: float, gradient: Floats, n: int) -> Estimate:
        half = float(student.ppf(0.975, cases - 1)) * float(np.sqrt(gradient @ covariance @ gradient))
        return Estimate(name, value, value - half, value + half, n=n, cases=cases, method=MODEL)

    each = {k: estimate(k[1], v, gradients[k], len(counts[k])) for k, v in means.items()}
    apart = tuple(
        MethodDifference(
            aspect, first, second,
            estimate(
                f"{first} - {second}", means[aspect, first] - means[aspect, second],
                gradients[aspect, first] - gradients[aspect, second],
                len(counts[aspect, first]) + len(counts[aspect, second]),
            ),
        )
        for aspect in d.aspects
        for first, second in itertools.combinations(d.methods, 2)
    )  # fmt: skip
    return FacetReport(
        each, {k: float(np.mean(v)) for k, v in counts.items()}, apart, _severities(fit, estimate), len(ratings), cases,
        fit.converged,
    )  # fmt: skip


def _severities(fit: FacetFit, estimate: object) -> dict[str, Estimate]:
    d, size = fit.design, len(fit.outer) + 1
    out = {}
    for n, person in enumerate(d.persons):
        gradient = np.zeros(size)
        gradient[fit.cuts + d.person_column] = -1 / len(d.persons)
        gradient[fit.cuts + d.person_column[n]] += 1
        value = float(gradient[:-1] @ fit.outer)
        out[person] = estimate(person, value, gradient, 0)  # type: ignore[operator]
    return out


def _with_spread(fit: FacetFit) -> Floats:
    """The covariance of thresholds and effects, and beside it the variance of the spread over items (its logarithm)."""
    total = sum(fit.variance[k] for k in _item_blocks(fit))
    relative = sum((fit.variance[k] / total) ** 2 * 2 / max(fit.freedom.get(k, 0.0), 1.0) for k in _item_blocks(fit))
    out = np.zeros((len(fit.outer) + 1, len(fit.outer) + 1))
    out[:-1, :-1] = fit.covariance
    out[-1, -1] = relative / 4  # of log sd, from that of log variance
    return out


def _item_blocks(fit: FacetFit) -> list[str]:
    return [k for k in fit.variance if k != "person on an aspect"]


def _mean(fit: FacetFit, a: int, m: int) -> tuple[float, Floats, Floats]:
    """A method's mean on an aspect over items and the panel, its gradient, and that by the log of the spread."""
    d, gradient, by_spread = fit.design, np.zeros(len(fit.outer)), 0.0
    low, high = int(d.cuts[a]), int(d.cuts[a + 1])
    steps, cuts = np.diff(d.values[a]), fit.outer[low:high]
    spread = float(np.sqrt(sum(fit.variance[k] for k in _item_blocks(fit))))
    column, value = int(d.method_column[a, m]), float(d.values[a][0])
    for n in range(len(d.persons)):
        mine = [(fit.cuts + int(d.person_column[n]), -1.0)]
        if d.person_aspect >= 0:
            mine.append((fit.cuts + d.person_aspect + n * len(d.aspects) + a, -1.0))
        if column >= 0:
            mine.append((fit.cuts + column, 1.0))
        at = sum(sign * fit.outer[c] for c, sign in mine) + spread * _NODES
        above = expit(at[:, None] - cuts)
        slope = above * (1 - above) * steps * _WEIGHTS[:, None] / len(d.persons)
        value += float((above * steps * _WEIGHTS[:, None]).sum()) / len(d.persons)
        gradient[low:high] -= slope.sum(axis=0)
        for c, sign in mine:
            gradient[c] += sign * float(slope.sum())
        by_spread += float((slope.sum(axis=1) * _NODES).sum()) * spread
    return value, gradient, np.array([by_spread])
