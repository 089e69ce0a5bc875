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
    """A column: its head and the name of its value. With ``less``, the difference to a second value, paired by case.

    ``unit``: what values without a scale are shown in.
    """

    head: str
    value: str
    less: str = ""
    scale: Scale | None = SHARE
    unit: str = "points"

    @property
    def title(self) -> str:
        """The head as shown: a difference is marked as one."""
        return f"{DELTA} {self.head}" if self.less else self.head


def head_of(names: Sequence[str], counted: str, columns: Iterable[Rate]) -> tuple[str, ...]:
    """The head of a table that ``rates`` fills: the names of the groups, what is counted, the columns."""
    return (*names, counted, *(column.title for column in columns))


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


def _rate(group: DataFrame, column: Rate, pooled: bool) -> Interval:
    known = group.dropna(subset=[column.value, *([column.less] if column.less else [])])
    cases, values = known["case"].tolist(), known[column.value].astype(float).tolist()
    if column.less:
        other = known[column.less].astype(float).tolist()
        return difference_interval(case_means(values, cases), case_means(other, cases))
    if pooled:
        sums = {case: (0.0, 0.0) for case in cases}
        for case, value in zip(cases, values, strict=True):
            sums[case] = (sums[case][0] + value, sums[case][1] + 1)
        found = pooled_interval(list(sums.values()), column.scale)
    else:
        neighbours = known["neighbour"].tolist() if "neighbour" in known else ()
        found = clustered_interval(values, cases, neighbours, column.scale)
    return found if column.scale == SHARE else found._replace(unit=column.unit)
