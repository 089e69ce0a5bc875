"""Tables and pictures of a report as figures: rows of a long table of values, grouped; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from curation.stats.bootstrap import case_means
from curation.stats.bounded import SHARE, Scale, clustered_interval, difference_interval
from curation.stats.estimates import Estimate
from curation.stats.intervals import Interval
from evaluation.metrics.pooled import pooled_interval

if TYPE_CHECKING:
    from pandas import DataFrame

Cell = Interval | Estimate | float | int | str | None
DELTA = "Δ"
"""What the head of a column of differences begins with: its figures are shown with their sign."""


class FigureTable(NamedTuple):
    """A table of a report: the first cell of a row is its name; ``folded``: shown when it is opened."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    folded: bool = False


class PlotPoint(NamedTuple):
    """A value of one method: ``x`` is a number on a logarithmic axis, or the name of a column."""

    label: str
    x: float | str
    value: Interval


class Plot(NamedTuple):
    """A picture: ``dots`` (a row a method) or ``lines`` over x; ``earlier`` is a second, dashed line of each method.

    ``upwards`` names the axis of values, ``ranked`` turns it round: 1 is on top.
    """

    kind: Literal["dots", "lines"]
    title: str
    points: tuple[PlotPoint, ...]
    across: str = ""
    upwards: str = ""
    caption: str = ""
    earlier: tuple[PlotPoint, ...] = ()
    reference: float | None = None
    ranked: bool = False


class Section(NamedTuple):
    """A section of a report: the anchor of its heading, its title, a sentence or two, tables and pictures."""

    anchor: str
    title: str
    parts: tuple[FigureTable | Plot, ...]
    caption: str = ""


class Rate(NamedTuple):
    """A column: its head and the name of its value. With ``less``, the difference to a second value, paired by case."""

    head: str
    value: str
    less: str = ""
    scale: Scale | None = SHARE

    @property
    def title(self) -> str:
        """The head as shown: a difference is marked as one."""
        return f"{DELTA} {self.head}" if self.less else self.head


def rate_table(
    title: str,
    values: Sequence[Mapping[str, Any]],
    by: Sequence[str],
    counted: str,
    columns: Sequence[Rate],
    caption: str = "",
    *,
    pooled: bool = False,
    folded: bool = False,
) -> FigureTable:
    """A table of ``rates``: the names of the groups, how many values each has (``counted``), the columns."""
    head = (*(name.capitalize() for name in by), counted, *(column.title for column in columns))
    return FigureTable(title, head, rates(values, by, columns, pooled=pooled), caption, folded)


def rates(
    values: Sequence[Mapping[str, Any]], by: Sequence[str], columns: Sequence[Rate], *, pooled: bool = False
) -> tuple[tuple[Cell, ...], ...]:
    """One row a group, in the order in which groups appear: its names, the number of its values, its intervals.

    Args:
        values: One mapping a prompt, with its ``case`` (and ``neighbour``, where it may have one). A value that is
            None is not counted.
        by: Names of the values that make a group.
        columns: What is averaged: over case means, with the interval by case.
        pooled: Average over prompts, whatever case they belong to.

    Example:
        >>> texts = [{"method": "ft", "case": f"c{n}", "new": float(n > 0)} for n in range(6)]
        >>> ((method, count, share),) = rates(texts, ["method"], [Rate("names new", "new")])
        >>> method, count, round(share.mean, 3)
        ('ft', 6, 0.833)
    """
    from pandas import DataFrame

    if not values:
        return ()
    groups = DataFrame.from_records(values).astype(object).groupby(list(by), sort=False)
    rows: list[tuple[Cell, ...]] = []
    for names, group in groups:
        keys: Any = names
        rows.append((*keys, len(group), *(_rate(group, column, pooled) for column in columns)))
    return tuple(rows)


def pooled_share(scored: Iterable[tuple[str, float]], scale: Scale | None = SHARE) -> Interval:
    """Mean over values with the cases that they are of, its interval from drawing whole cases."""
    sums: dict[str, tuple[float, float]] = {}
    for case, value in scored:
        total, count = sums.get(case, (0.0, 0.0))
        sums[case] = total + value, count + 1
    return pooled_interval(list(sums.values()), scale)


def _rate(group: DataFrame, column: Rate, pooled: bool) -> Interval:
    known = group.dropna(subset=[column.value, *([column.less] if column.less else [])])
    cases, values = known["case"].tolist(), known[column.value].astype(float).tolist()
    if column.less:
        other = known[column.less].astype(float).tolist()
        return difference_interval(case_means(values, cases), case_means(other, cases))
    if pooled:
        found = pooled_share(zip(cases, values, strict=True), column.scale)
    else:
        neighbours = [n if isinstance(n, str) else None for n in known.get("neighbour", ())]
        found = clustered_interval(values, cases, neighbours, column.scale)
    return found if column.scale == SHARE else found._replace(unit="points")
