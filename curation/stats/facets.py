"""The fit of a many-facet ordinal model: penalised Newton steps, variances of random effects between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]
from scipy.linalg import cho_factor, cho_solve  # type: ignore[import-untyped]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]
from scipy.special import expit  # type: ignore[import-untyped]

from curation.stats.estimates import Floats, Groups, Ints, number_groups
from schemas.core.errors import UserError

_LEAST, _MOST = 1e-4, 100.0  # variances below are none, and above tell nothing apart
_ROUNDS, _STEPS = 100, 60
_CLOSE = 2e-3  # change of a variance, beside itself and 0.05, below which it is at rest
_STRIDE = 1.5  # steps of the variances are lengthened: near 0 they shrink for ever


class FacetFit(NamedTuple):
    """A fitted model. Columns: thresholds first, then the design's columns; units apart.

    Attributes:
        design: What was fitted.
        outer: Thresholds and effects (columns,) in logits.
        unit: Effects of the units (units,).
        variance: Of the random effects by block; ``unit`` among them.
        freedom: Effective number of effects that each variance rests on.
        covariance: Of ``outer``, units integrated out (columns, columns).
        converged: Whether the variances came to rest.
    """

    design: FacetDesign
    outer: Floats
    unit: Floats
    variance: dict[str, float]
    freedom: dict[str, float]
    covariance: Floats
    converged: bool

    @property
    def cuts(self) -> int:
        """Number of thresholds."""
        return int(self.design.cuts[-1])


class _Curvature(NamedTuple):
    """Gradient and minus the second derivatives of the penalised log-likelihood."""

    gradient: Floats
    unit_gradient: Floats
    block: Floats
    unit: Floats
    cross: Any


def fit_facets(design: FacetDesign) -> FacetFit:
    """Fit the cumulative logit model ``P(rating <= k) = logistic(threshold_k - effect)``.

    The effect of a rating is its method on the aspect, its case, item and unit (an item on the aspect), less the
    severity of the person (in all, and on the aspect). The logit likelihood is concave (Pratt 1981), so the penalised
    maximum is one. Variances of random effects are those of Schall (1991): the squared effects over the number that the
    ratings really tell. Units are taken out before each solution, so that the time grows with cases and items only.

    Args:
        design: From ``facet_design``.
    """
    width = design.effects.shape[1]
    names = [*(b.name for b in design.blocks), "unit"]
    now = dict.fromkeys(names, 0.5)
    outer, unit = np.concatenate([_start(design), np.zeros(width)]), np.zeros(len(design.units.names))
    freedom = dict.fromkeys(names, 0.0)
    parts, converged = _Parts(design), False
    for _ in range(_ROUNDS):
        outer, unit, at = _maximum(parts, outer, unit, now, steps=2)
        new, freedom = _variances(parts, outer, unit, at, _inverse(at), now)
        converged = all(abs(new[k] - now[k]) < _CLOSE * (now[k] + 0.05) for k in names)
        if converged:
            break
        now = {k: min(max(now[k] * (new[k] / now[k]) ** _STRIDE, _LEAST), _MOST) for k in names}
    outer, unit, at = _maximum(parts, outer, unit, now)
    return FacetFit(design, outer, unit, now, freedom, _inverse(at), converged)


class _Parts:
    """Matrices that every step needs.

    Attributes:
        upper, lower: Sparse (ratings, outer columns and units): the distance of each rating to the threshold above and
            below it as a sum of thresholds, effects and its unit; where there is no threshold, of the rest.
    """

    def __init__(self, design: FacetDesign) -> None:
        self.design, self.cuts = design, int(design.cuts[-1])
        self.width, rows = self.cuts + design.effects.shape[1], len(design.upper)
        rest = [-design.effects, _indicator(design.units.of, -1.0, rows, len(design.units.names))]
        self.upper, self.lower = (
            sparse.csr_array(sparse.hstack([_indicator(side, 1.0, rows, self.cuts), *rest]))
            for side in (design.upper, design.lower)
        )

    def precision(self, variance: dict[str, float]) -> Floats:
        """Of every outer column and unit."""
        units = np.full(len(self.design.units.names), 1 / variance["unit"])
        out = np.concatenate([np.zeros(self.cuts), self.design.fixed, units])
        for b in self.design.blocks:
            out[self.cuts + b.start : self.cuts + b.stop] = 1 / variance[b.name]
        return out

    def chances(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Distance of each rating to the threshold above and below, and its probability."""
        b = np.where(self.design.upper >= 0, self.upper @ x, np.inf)
        a = np.where(self.design.lower >= 0, self.lower @ x, -np.inf)
        flip = a > 0  # on the side where the difference does not cancel
        p = np.where(flip, expit(-a) - expit(-b), expit(b) - expit(a))
        return b, a, np.maximum(p, 1e-300)

    def value(self, outer: Floats, unit: Floats, variance: dict[str, float]) -> float:
        """The penalised log-likelihood; minus infinity where thresholds are out of order."""
        for low, high in zip(self.design.cuts[:-1], self.design.cuts[1:], strict=True):
            if np.any(np.diff(outer[low:high]) <= 0):
                return -math.inf
        x = np.concatenate([outer, unit])
        return float(np.log(self.chances(x)[2]).sum()) - 0.5 * float(self.precision(variance) @ x**2)


def _start(design: FacetDesign) -> Floats:
    """Thresholds of the ratings as they lie, without any effect."""
    out = np.empty(int(design.cuts[-1]))
    for low, high in zip(design.cuts[:-1], design.cuts[1:], strict=True):
        above = np.array([np.sum(design.lower == k) for k in range(low, high)], dtype=np.float64)
        mine = (design.upper >= low) & (design.upper < high) | (design.lower >= low) & (design.lower < high)
        reached = np.array([above[k:].sum() for k in range(high - low)])
        share = (mine.sum() - reached + 0.5) / (mine.sum() + 1)
        out[low:high] = np.log(share / (1 - share))
    return out


def _curvature(parts: _Parts, outer: Floats, unit: Floats, variance: dict[str, float]) -> _Curvature:
    x, precision, width = np.concatenate([outer, unit]), parts.precision(variance), parts.width
    b, a, p = parts.chances(x)
    fb, fa = expit(b) * expit(-b), expit(a) * expit(-a)
    gb, ga = fb / p, -fa / p
    bb, aa, ab = fb * (expit(-b) - expit(b)) / p - gb**2, -fa * (expit(-a) - expit(a)) / p - ga**2, -ga * gb
    gradient = parts.upper.T @ gb + parts.lower.T @ ga - precision * x
    (bb_, aa_, ab_), (up, low) = (sparse.diags_array(d) for d in (bb, aa, ab)), (parts.upper, parts.lower)
    second = sparse.csr_array(up.T @ (bb_ @ up + ab_ @ low) + low.T @ (ab_ @ up + aa_ @ low))  # by two columns
    held = sparse.csr_array(sparse.diags_array(precision) - second)
    return _Curvature(
        gradient[:width],
        gradient[width:],
        held[:width, :width].toarray(),
        held.diagonal()[width:],
        held[width:, :width],
    )


def _reduced(at: _Curvature) -> Floats:
    """The outer block with the units taken out."""
    scaled = at.cross.multiply(1 / at.unit[:, None])
    return np.asarray(at.block - (at.cross.T @ scaled).toarray())


def _inverse(at: _Curvature) -> Floats:
    reduced = _reduced(at)
    return np.asarray(cho_solve(cho_factor(reduced), np.eye(len(reduced))))


def _maximum(
    parts: _Parts, outer: Floats, unit: Floats, variance: dict[str, float], *, steps: int = _STEPS
) -> tuple[Floats, Floats, _Curvature]:
    """Newton steps with halving, so many at the most, until the penalised log-likelihood rises no more."""
    value = parts.value(outer, unit, variance)
    for _ in range(steps):
        at = _curvature(parts, outer, unit, variance)
        right = at.gradient - at.cross.T @ (at.unit_gradient / at.unit)
        step = cho_solve(cho_factor(_reduced(at)), right)
        unit_step = (at.unit_gradient - at.cross @ step) / at.unit
        gain = float(at.gradient @ step + at.unit_gradient @ unit_step)
        scale = 1.0
        while scale > 1e-8:
            tried = parts.value(outer + scale * step, unit + scale * unit_step, variance)
            if tried >= value:
                break
            scale /= 2
        else:
            return outer, unit, at
        outer, unit, value = outer + scale * step, unit + scale * unit_step, tried
        if gain < 1e-8:
            break
    return outer, unit, _curvature(parts, outer, unit, variance)


def _variances(
    parts: _Parts, outer: Floats, unit: Floats, at: _Curvature, covariance: Floats, now: dict[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """The next variances, and the effective numbers of effects behind them."""
    new, freedom = {}, {}
    spread = np.diag(covariance)
    for b in parts.design.blocks:
        mine = slice(parts.cuts + b.start, parts.cuts + b.stop)
        new[b.name], freedom[b.name] = _one_variance(outer[mine], spread[mine], now[b.name])
    rows = np.asarray(at.cross @ covariance)
    around = np.asarray(at.cross.multiply(rows).sum(axis=1)).ravel()
    new["unit"], freedom["unit"] = _one_variance(unit, 1 / at.unit + around / at.unit**2, now["unit"])
    return new, freedom


def _one_variance(effects: Floats, spread: Floats, now: float) -> tuple[float, float]:
    freedom = max(len(effects) - float(spread.sum()) / now, 1e-3)
    return max(float(effects @ effects) / freedom, _LEAST), freedom


WEAK = 1e-2
"""Precision of what is hardly held back (methods): a standard deviation of 10 logits."""
PANEL = 1 / 9
"""Precision of severities of persons: a standard deviation of 3 logits, far beyond what people differ by."""

_JOINT = "\n"


class FacetRating(NamedTuple):
    """One rating: ``person`` gave ``value`` to ``item`` (of ``case``, made by ``method``) on ``aspect``."""

    item: str
    case: str
    method: str
    person: str
    aspect: str
    value: int


class RandomBlock(NamedTuple):
    """Effects that share a variance: ``start`` to ``stop`` among the columns beside the units."""

    name: str
    start: int
    stop: int


class FacetDesign(NamedTuple):
    """A many-facet model's matrices.

    Attributes:
        methods, aspects, persons: Names, in their order of columns.
        cases, units: Cases, and units (an item on an aspect), by rating.
        values: Scale points in use, by aspect, ascending.
        cuts: Number of the first threshold of each aspect, and one past the last.
        upper, lower: Threshold above and below each rating, -1 where the scale ends.
        effects: Sparse (ratings, columns beside thresholds and units): methods by aspect, persons, random effects.
        method_column, person_column: Where the column of (aspect, method) and of a person stands; -1: the first method.
        person_aspect: Where the columns of (person, aspect) begin; -1 where there is one aspect.
        blocks: Random effects beside the units.
        fixed: Precision of each column's weak prior, 0 where a block has its own.
    """

    methods: tuple[str, ...]
    aspects: tuple[str, ...]
    persons: tuple[str, ...]
    cases: Groups
    units: Groups
    values: tuple[Floats, ...]
    cuts: Ints
    upper: Ints
    lower: Ints
    effects: Any
    method_column: Ints
    person_column: Ints
    person_aspect: int
    blocks: tuple[RandomBlock, ...]
    fixed: Floats


def facet_design(ratings: Sequence[FacetRating]) -> FacetDesign:
    """The matrices of a set of ratings, at most one of a person, item and aspect.

    Raises:
        UserError: the ratings cannot tell severity from anything else (see ``refuse_inestimable``).
    """
    refuse_inestimable(ratings)
    count, methods = len(ratings), tuple(sorted({r.method for r in ratings}))
    aspects, persons = number_groups([r.aspect for r in ratings]), tuple(sorted({r.person for r in ratings}))
    cases, items = number_groups([r.case for r in ratings]), number_groups([r.item for r in ratings])
    units = number_groups([r.item + _JOINT + r.aspect for r in ratings])
    values, cuts, upper, lower = _thresholds(ratings, aspects)
    columns, several = _Columns(count), len(aspects.names) > 1
    method = np.array([methods.index(r.method) for r in ratings])
    person = np.array([persons.index(r.person) for r in ratings])

    method_column = np.full((len(aspects.names), len(methods)), -1)
    method_column[:, 1:] = np.arange(len(aspects.names) * (len(methods) - 1)).reshape(len(aspects.names), -1)
    columns.add(method_column[aspects.of, method], int((method_column >= 0).sum()), 1.0, WEAK)
    person_column = columns.width + np.arange(len(persons))
    columns.add(person_column[person], len(persons), -1.0, PANEL)
    person_aspect = columns.width if several else -1
    if several:
        of = person * len(aspects.names) + aspects.of
        columns.add_block("person on an aspect", of, len(persons) * len(aspects.names), -1.0)
        columns.add_block("item", items.of, len(items.names), 1.0)
    if len(cases.names) < len(items.names):
        columns.add_block("case", cases.of, len(cases.names), 1.0)
    return FacetDesign(
        methods, aspects.names, persons, cases, units, values, cuts, upper, lower, columns.matrix(), method_column,
        person_column, person_aspect, tuple(columns.blocks), np.array(columns.fixed),
    )  # fmt: skip


class _Columns:
    """The columns of a design while they are put together: each part adds an indicator matrix."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.fixed: list[float] = []
        self.blocks: list[RandomBlock] = []
        self._parts: list[tuple[Ints, float]] = []

    @property
    def width(self) -> int:
        return len(self.fixed)

    def add(self, columns: Ints, size: int, sign: float, precision: float) -> None:
        """So many columns, and the one of each rating (-1: none)."""
        self._parts.append((columns, sign))
        self.fixed += [precision] * size

    def add_block(self, name: str, of: Ints, size: int, sign: float) -> None:
        """Random effects, a column a level."""
        self.blocks.append(RandomBlock(name, self.width, self.width + size))
        self.add(self.width + of, size, sign, 0.0)

    def matrix(self) -> Any:
        first, *others = (_indicator(c, sign, self.rows, self.width) for c, sign in self._parts)
        for part in others:
            first = first + part
        return sparse.csr_array(first)


def _indicator(columns: Ints, sign: float, rows: int, width: int) -> Any:
    there = np.flatnonzero(columns >= 0)
    return sparse.csr_array((np.full(len(there), sign), (there, columns[there])), shape=(rows, width))


def _thresholds(ratings: Sequence[FacetRating], aspects: Groups) -> tuple[tuple[Floats, ...], Ints, Ints, Ints]:
    """Scale points in use by aspect, where thresholds begin, and those above and below each rating."""
    numbers = np.array([r.value for r in ratings], dtype=np.float64)
    values = tuple(np.unique(numbers[aspects.of == a]) for a in range(len(aspects.names)))
    cuts = np.concatenate([[0], np.cumsum([len(v) - 1 for v in values])]).astype(np.int64)
    upper, lower = np.empty(len(numbers), dtype=np.int64), np.empty(len(numbers), dtype=np.int64)
    for a, v in enumerate(values):
        mine = aspects.of == a
        place = np.searchsorted(v, numbers[mine])
        upper[mine] = np.where(place < len(v) - 1, cuts[a] + place, -1)
        lower[mine] = np.where(place > 0, cuts[a] + place - 1, -1)
    return values, cuts, upper, lower


def refuse_inestimable(ratings: Sequence[FacetRating]) -> None:
    """Refuse ratings from which severity cannot be told.

    Raises:
        UserError: nobody or one person rated, an aspect has one value, people share no items, or a value is missing of
            a method; the sentence says which, and what would help.
    """
    persons = sorted({r.person for r in ratings})
    if len(persons) < 2:
        who = f"{persons[0]} alone rated" if persons else "nobody has rated yet"
        raise UserError(
            f"severity cannot be told: {who}", allowed="two people or more", fix="have another person rate some items"
        )
    groups = _linked(ratings)
    if len(groups) > 1:
        apart = "; ".join(", ".join(g) for g in groups)
        raise UserError(
            f"severity cannot be told: these people share no items with one another: {apart}",
            fix="have one of each rate some items of the others",
        )
    for aspect in sorted({r.aspect for r in ratings}):
        mine = [r for r in ratings if r.aspect == aspect]
        if len({r.value for r in mine}) < 2:
            raise UserError(
                f"'{aspect}' has no variance: all {len(mine)} ratings are {mine[0].value}",
                fix="leave it out, or rate items that differ",
            )
        lost = sorted({r.method for r in ratings} - {r.method for r in mine})
        if lost:
            raise UserError(f"'{aspect}' has no rating of {', '.join(lost)}", fix="have such items rated first")
    if len({r.case for r in ratings}) < 3:
        raise UserError("a spread over cases takes three cases or more", fix="have items of other cases rated")


def _linked(ratings: Sequence[FacetRating]) -> list[list[str]]:
    """Persons in groups, within which items that two rated lead from everybody to everybody."""
    names = sorted({r.person for r in ratings})
    items = number_groups([r.item for r in ratings])
    rated = _indicator(np.array([names.index(r.person) for r in ratings]), 1.0, len(ratings), len(names))
    on_item = _indicator(items.of, 1.0, len(ratings), len(items.names)).T @ rated
    number, group = connected_components(on_item.T @ on_item, directed=False)
    return [[name for name, one in zip(names, group, strict=True) if one == k] for k in range(number)]
