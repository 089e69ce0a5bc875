"""Which rating tells most: further ratings in the order in which they narrow the differences between methods."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]

from curation.stats.estimates import Floats
from curation.stats.facets.fit import FacetFit
from curation.stats.facets.means import mean_gradient


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
