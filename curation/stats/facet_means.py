"""Means of methods as a panel would give them, corrected for severity, with intervals; persons' severities."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
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
    d, cases = fit.design, fit.design.rated_cases
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


def mean_gradient(fit: FacetFit, a: int, m: int) -> Floats:
    """Gradient of a method's mean on an aspect by thresholds and effects (columns,)."""
    return _mean(fit, a, m)[1]


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


class PossibleRating(NamedTuple):
    """A rating that could be made: ``person`` rates ``item`` on every aspect."""

    person: str
    item: str


def plan_ratings(
    fit: FacetFit,
    possible: Sequence[PossibleRating],
    room: Mapping[str, int],
    *,
    places: Mapping[str, int] | None = None,
) -> list[PossibleRating]:
    """The ratings to make next, the most telling first.

    Greedily, each time the one that most lowers the summed variance of all differences between methods, the ratings
    chosen before it counted as made. A rating's information is that of the cumulative logit about its effect at the
    present estimates (Samejima 1969); thresholds count as known.

    Args:
        fit: With the items of ``possible`` in its design (rated, or waiting).
        possible: Ratings that could be made; those of persons and items that the fit does not know are left out.
        room: How many ratings each person can take.
        places: How many more people an item can go to; all items to everybody where it is None.

    Returns:
        At most as many as there is room for.
    """
    known = [
        p for p in possible if p.person in fit.design.persons and p.item in fit.design.items and room.get(p.person)
    ]
    board, left, out = _Board(fit, known), dict(room), []
    free = dict(places) if places is not None else dict.fromkeys(fit.design.items, len(fit.design.persons))
    open_ = np.array([free.get(p.item, 0) > 0 for p in known], dtype=bool)
    while open_.any():
        gain = np.where(open_, board.gains(), -np.inf)
        best = int(np.argmax(gain))
        out.append(known[best])
        open_[best] = False
        left[known[best].person] -= 1
        free[known[best].item] -= 1
        open_ &= np.array([left[p.person] > 0 and free.get(p.item, 0) > 0 for p in known])
        board.count(best)
    return out


class _Board:
    """Every possible rating's vector, beside the covariance, kept up to date as ratings are counted as made.

    Attributes:
        vectors: (ratings x aspects, columns), the units taken out.
        weight: Information of each.
        solved: Covariance times the gradients of all differences (columns, differences).
    """

    def __init__(self, fit: FacetFit, possible: Sequence[PossibleRating]) -> None:
        self.possible, self.aspects = possible, len(fit.design.aspects)
        self.covariance = fit.covariance.copy()
        self.wanted = _wanted(fit)
        self.solved = self.covariance @ self.wanted
        rows = len(possible) * self.aspects
        self.plain, self.unit = np.zeros((rows, len(fit.outer))), np.zeros(rows, dtype=np.int64)
        self.weight = np.zeros(rows)
        self._fill(fit)
        self.curvature = fit.curvature.copy()
        self.cross: dict[int, Floats] = {
            int(u): np.asarray(fit.cross[[int(u)], :].toarray()).ravel() for u in np.unique(self.unit)
        }
        self.vectors = np.array([x - self.cross[int(u)] / self.curvature[u] for x, u in zip(self.plain, self.unit)])  # noqa: B905
        self.vectors = self.vectors.reshape(rows, len(fit.outer))
        self.projected = self.vectors @ self.covariance
        self.of_unit = {int(u): np.flatnonzero(self.unit == u) for u in np.unique(self.unit)}

    def _fill(self, fit: FacetFit) -> None:
        d = fit.design
        units = {name: n for n, name in enumerate(d.units.names)}
        items, cases = ({name: n for n, name in enumerate(names)} for names in (d.items, d.cases.names))
        for n, (p, (a, aspect)) in enumerate(itertools.product(self.possible, enumerate(d.aspects))):
            item, person = d.items[p.item], d.persons.index(p.person)
            row = self.plain[n]
            for column, sign in (
                (d.method_column[a, d.methods.index(item.method)], 1.0),
                (d.person_column[person], -1.0),
                (d.column_of("person on an aspect", person * len(d.aspects) + a), -1.0),
                (d.column_of("item", items[item.item]), 1.0),
                (d.column_of("case", cases[item.case]), 1.0),
            ):
                if column >= 0:
                    row[fit.cuts + int(column)] = sign
            self.unit[n] = units[d.unit_of(item.item, aspect)]
            effect = float(row @ fit.outer) + float(fit.unit[self.unit[n]])
            self.weight[n] = information(fit.outer[d.cuts[a] : d.cuts[a + 1]] - effect)

    def gains(self) -> Floats:
        """By how much each possible rating would lower the summed variance of the differences."""
        share = self._share()
        along = ((self.vectors @ self.solved) ** 2).sum(axis=1)
        each = share * along / (1 + share * self._spread())
        return np.asarray(each.reshape(len(self.possible), self.aspects).sum(axis=1))

    def _share(self) -> Floats:
        h = self.curvature[self.unit]
        return np.asarray(self.weight * h / (h + self.weight))

    def _spread(self) -> Floats:
        return np.asarray(np.einsum("rq,rq->r", self.projected, self.vectors))

    def count(self, chosen: int) -> None:
        """Count a rating as made, on every aspect."""
        for n in range(chosen * self.aspects, (chosen + 1) * self.aspects):
            u, w, x = int(self.unit[n]), float(self.weight[n]), self.vectors[n].copy()
            share = w * self.curvature[u] / (self.curvature[u] + w)
            solved = self.covariance @ x
            scale = share / (1 + share * float(x @ solved))
            self.covariance -= scale * np.outer(solved, solved)
            self.solved -= scale * np.outer(solved, x @ self.solved)
            self.projected -= scale * np.outer(self.vectors @ solved, solved)
            self.cross[u] = self.cross[u] + w * self.plain[n]
            self.curvature[u] += w
            mine = self.of_unit[u]
            self.vectors[mine] = self.plain[mine] - self.cross[u] / self.curvature[u]
            self.projected[mine] = self.vectors[mine] @ self.covariance


def _wanted(fit: FacetFit) -> Floats:
    """Gradients of all differences between methods (columns, differences)."""
    d = fit.design
    out = [
        mean_gradient(fit, a, first) - mean_gradient(fit, a, second)
        for a in range(len(d.aspects))
        for first, second in itertools.combinations(range(len(d.methods)), 2)
    ]
    return np.array(out).T.reshape(len(fit.outer), len(out))


def information(distances: Floats) -> float:
    """Fisher information of one rating about its effect, given the distances of the thresholds from that effect.

    Example:
        >>> information(np.array([0.0]))
        0.25
    """
    below = np.concatenate([[0.0], expit(distances), [1.0]])
    slope = below * (1 - below)
    chance = np.maximum(np.diff(below), 1e-12)
    return float((np.diff(slope) ** 2 / chance).sum())
