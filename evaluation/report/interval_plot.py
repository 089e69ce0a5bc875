"""Dots with their 95 % intervals: one picture a metric, one row a method, the same colour and mark everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evaluation.analysis.comparison import Comparison
from evaluation.metrics.base import Metric
from evaluation.report.formatting import ARROWS, column_size, mean_with_interval, percent, plain_number

SHAPES = ("circle", "square", "triangle", "diamond", "cross", "plus")
_ROW, _TOP, _BOTTOM, _PLOT = 24, 10, 26, 300
_LETTER, _LONGEST = 9.0, 28  # pixels of a bold letter; letters of a name beyond which it is cut
_HALF = 0.5  # fractions above it are shown on an axis that ends at 100 %


class MarkStyle(NamedTuple):
    """How one of several methods is drawn: number of its colour, and its shape."""

    series: int
    shape: str


def mark_style(number: int) -> MarkStyle:
    """The style of the method of this number, from 0: 36 of them differ in colour or shape, the first six in both.

    Example:
        >>> mark_style(0), mark_style(6)
        (MarkStyle(series=0, shape='circle'), MarkStyle(series=0, shape='square'))
    """
    count = len(SHAPES)
    return MarkStyle(number % count, SHAPES[(number + number // count) % count])


def style_of(label: str, labels: Sequence[str], number: int) -> MarkStyle:
    """The style of a method by its place in the table; ``number`` counts where the table does not have it."""
    return mark_style(labels.index(label) if label in labels else number)


class IntervalMark(NamedTuple):
    """One method: its name, its mean as (x, y), its interval as (x, x) or None, its style, and all in words."""

    name: str
    x: float
    y: float
    bar: tuple[float, float] | None
    series: int
    shape: str
    description: str


class IntervalPlot(NamedTuple):
    """One picture: title, marks, ticks (place, text), place of the mean without an edit, size in pixels."""

    title: str
    size: str
    marks: tuple[IntervalMark, ...]
    ticks: tuple[tuple[float, str], ...]
    reference: float | None
    left: int
    width: int
    height: int
    top: int = _TOP

    @property
    def bottom(self) -> int:
        """Where the axis lies."""
        return self.height - _BOTTOM


def interval_plots(table: Comparison, metrics: Sequence[Metric]) -> list[IntervalPlot]:
    """A picture of every metric that has finite values."""
    plots = [_plot(table, metric) for metric in metrics]
    return [plot for plot in plots if plot is not None]


def _plot(table: Comparison, metric: Metric) -> IntervalPlot | None:
    rows = [(n, r, r.summaries[metric.name].interval) for n, r in enumerate(table.rows)]
    values = [v for _, _, i in rows for v in (i.mean, i.low, i.high) if v is not None]
    if not values or not all(map(math.isfinite, values)):
        return None
    low, high = min(0.0, *values), max(values) or 1.0
    fraction = metric.unit == "fraction"
    high = 1.0 if fraction and high > _HALF else high
    left = round(_LETTER * min(_LONGEST, max(len(row.label) for row in table.rows))) + 14

    def across(value: float) -> float:
        return round(left + _PLOT * (value - low) / (high - low), 1)

    marks: list[IntervalMark] = []
    reference: float | None = None
    for n, row, interval in rows:
        if interval.mean is None:
            continue
        reference = across(interval.mean) if row.baseline else reference
        bar = None if interval.low is None or interval.high is None else (across(interval.low), across(interval.high))
        name = row.label if len(row.label) <= _LONGEST else f"{row.label[: _LONGEST - 1]}…"
        place = (across(interval.mean), float(_TOP + _ROW * len(marks) + _ROW / 2))
        marks.append(IntervalMark(name, *place, bar, *mark_style(n), f"{row.label}: {mean_with_interval(interval)}"))
    ticks = [low + (high - low) * k / 4 for k in range(5)]
    texts = [percent(t, digits=0 if high == 1 else 1) if fraction else plain_number(t) for t in ticks]
    return IntervalPlot(
        title=f"{metric.title} {ARROWS[metric.better]}" + (", %" if fraction else f", {metric.unit}"),
        size=column_size(table, metric),
        marks=tuple(marks),
        ticks=tuple(zip(map(across, ticks), texts, strict=True)),
        reference=reference,
        left=left,
        width=left + _PLOT + 24,
        height=_TOP + _ROW * len(marks) + _BOTTOM,
    )
