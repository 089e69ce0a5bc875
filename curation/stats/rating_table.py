"""Ratings as agreement statistics take them: units by raters, with gaps, on a named scale, each unit in a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from curation.stats.estimates import Floats, Groups, number_groups
from schemas.core.errors import UserError

Category = float | str


@dataclass(frozen=True)
class RatingTable:
    """Who rated what how.

    Attributes:
        codes: Array (units, raters) of positions in ``scale``; NaN where a rater did not rate a unit.
        units: Names of the rated units.
        raters: Names of the raters.
        cases: The case of every unit; cases are what is independent, and what intervals resample.
        scale: All categories in their order: those declared, else those that occur.
        ordered: Whether the order of the scale means something; false for names whose order nobody declared.
    """

    codes: Floats
    units: tuple[str, ...]
    raters: tuple[str, ...]
    cases: tuple[str, ...]
    scale: tuple[Category, ...]
    ordered: bool

    @property
    def numeric(self) -> bool:
        """Whether the categories are numbers, so that distances between them mean something."""
        return all(not isinstance(c, str) for c in self.scale)

    @property
    def values(self) -> Floats:
        """The ratings (units, raters): numbers of a numeric scale, positions 0, 1, ... of names; NaN for gaps."""
        if not self.numeric:
            return self.codes
        scale = np.array([float(c) for c in self.scale] + [np.nan])
        return np.asarray(scale[np.where(np.isnan(self.codes), len(self.scale), self.codes).astype(np.int64)])

    @property
    def counts(self) -> Floats:
        """How many raters gave a unit each category: (units, categories)."""
        return np.asarray((self.codes[:, :, None] == np.arange(len(self.scale))).sum(axis=1), dtype=np.float64)

    @property
    def case_groups(self) -> Groups:
        """Units numbered by case."""
        return number_groups(self.cases)

    def of_raters(self, raters: Sequence[str]) -> RatingTable:
        """The same table with some raters only; the scale stays."""
        keep = [self.raters.index(r) for r in raters]
        return RatingTable(self.codes[:, keep], self.units, tuple(raters), self.cases, self.scale, self.ordered)


def rating_table(
    rows: Iterable[tuple[str, str, Category | None]],
    *,
    cases: Mapping[str, str] | None = None,
    scale: Sequence[Category] | None = None,
) -> RatingTable:
    """Build a table from rows (unit, rater, rating).

    Args:
        rows: One row a rating; a rating of None (unscored) is a gap, and its unit and rater are kept.
        cases: The case of each unit; every unit is its own case where it is None.
        scale: All categories in order, such as ``range(1, 8)``: needed by Gwet's coefficients where a category was
            never used, and for names that have an order. Without it: the categories that occur, sorted.

    Raises:
        UserError: A rater rated a unit twice, a rating is not on the scale, numbers and names are mixed, or a unit has
            no case.

    Example:
        >>> table = rating_table([("s1", "ann", 7), ("s1", "bob", 6), ("s2", "ann", 5)], scale=range(1, 8))
        >>> table.values.tolist()
        [[7.0, 6.0], [5.0, nan]]
    """
    ratings = list(rows)
    units, raters = number_groups([r[0] for r in ratings]), number_groups([r[1] for r in ratings])
    whole, ordered = _scale([v for _, _, v in ratings if v is not None], scale)
    place = {c: n for n, c in enumerate(whole)}
    codes = np.full((len(units.names), len(raters.names)), np.nan)
    seen: set[tuple[str, str]] = set()
    for (unit, rater, value), i, j in zip(ratings, units.of.tolist(), raters.of.tolist(), strict=True):
        if (unit, rater) in seen:
            raise UserError(f"rater '{rater}' rated '{unit}' twice", fix="keep one rating of each rater and unit")
        seen.add((unit, rater))
        if value is not None:
            codes[i, j] = place[value if isinstance(value, str) else float(value)]
    return RatingTable(codes, units.names, raters.names, _cases(units.names, cases), whole, ordered)


def _scale(categories: Sequence[Category], declared: Sequence[Category] | None) -> tuple[tuple[Category, ...], bool]:
    both = [*categories, *(declared if declared is not None else ())]
    names = sum(isinstance(v, str) for v in both)
    if 0 < names < len(both):
        raise UserError("ratings mix numbers and names", fix="use one kind of rating in a table")
    if any(v != v for v in categories):
        raise UserError("a rating is NaN", fix="pass None for an unscored rating")
    if declared is None:
        texts = sorted({v for v in categories if isinstance(v, str)})
        return tuple(texts or sorted({float(v) for v in categories})), not names
    whole = tuple(v if isinstance(v, str) else float(v) for v in declared)
    for value in categories:
        if value not in whole:
            raise UserError(f"rating {value!r} is not on the scale", allowed=", ".join(f"{c}" for c in declared))
    if not names and list(whole) != sorted(set(whole)):
        raise UserError("a scale of numbers ascends", where=", ".join(f"{c}" for c in declared))
    return whole, True


def _cases(units: tuple[str, ...], cases: Mapping[str, str] | None) -> tuple[str, ...]:
    if cases is None:
        return units
    lost = next((u for u in units if u not in cases), None)
    if lost is not None:
        raise UserError(f"unit '{lost}' has no case", fix="give every unit its case")
    return tuple(cases[u] for u in units)
