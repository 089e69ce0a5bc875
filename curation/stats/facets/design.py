"""Ratings by person, item, aspect and method, as the matrices of a many-facet model, and what cannot be estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]

from curation.stats.estimates import Floats, Groups, Ints, number_groups
from schemas.core.errors import UserError

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


class FacetItem(NamedTuple):
    """An item, the case that it belongs to, and the method that made it."""

    item: str
    case: str
    method: str


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
        items: Items by id, rated or waiting.
        rated_cases: Cases with a rating.
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
    items: dict[str, FacetItem]
    rated_cases: int

    def column_of(self, block: str, level: int) -> int:
        """Column of a random effect; -1 where the design has no such block."""
        return next((b.start + level for b in self.blocks if b.name == block), -1)

    def unit_of(self, item: str, aspect: str) -> str:
        """Name of a unit."""
        return item + _JOINT + aspect


def facet_design(ratings: Sequence[FacetRating], waiting: Sequence[FacetItem] = ()) -> FacetDesign:
    """The matrices of a set of ratings.

    Args:
        ratings: At most one of a person, item and aspect.
        waiting: Items that nobody has rated and that could be (see ``plan_ratings``); they change no estimate.

    Raises:
        UserError: the ratings cannot tell severity from anything else (see ``refuse_inestimable``).
    """
    refuse_inestimable(ratings)
    count = len(ratings)
    known = {r.item: FacetItem(r.item, r.case, r.method) for r in ratings}
    methods = tuple(sorted({r.method for r in ratings}))
    known |= {i.item: i for i in waiting if i.item not in known and i.method in methods}
    aspects, persons = number_groups([r.aspect for r in ratings]), tuple(sorted({r.person for r in ratings}))
    cases = number_groups([r.case for r in ratings] + [i.case for i in known.values()])
    items = number_groups([r.item for r in ratings] + list(known))
    units = number_groups(
        [r.item + _JOINT + r.aspect for r in ratings] + [i + _JOINT + a for i in known for a in aspects.names]
    )
    cases, items, units = (Groups(g.of[:count], g.names) for g in (cases, items, units))
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
    rated_cases = len({r.case for r in ratings})
    return FacetDesign(
        methods, aspects.names, persons, cases, units, values, cuts, upper, lower, columns.matrix(), method_column,
        person_column, person_aspect, tuple(columns.blocks), np.array(columns.fixed), known, rated_cases,
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
    home = {r.person: r.person for r in ratings}

    def root(person: str) -> str:
        while home[person] != person:
            person = home[person]
        return person

    first: dict[str, str] = {}
    for r in ratings:
        other = first.setdefault(r.item, r.person)
        home[root(r.person)] = root(other)
    groups: dict[str, list[str]] = {}
    for person in sorted(home):
        groups.setdefault(root(person), []).append(person)
    return list(groups.values())
