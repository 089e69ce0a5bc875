"""Curves in picture coordinates: a metric over the number of edits in one model, one line a method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evaluation.analysis.forgetting_series import ForgettingSeries
from evaluation.report.formatting import mean_with_interval
from evaluation.report.interval_plot import style_of
from schemas.text.counting import counted

WIDTH, HEIGHT = 560, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 110, 16, 52


class CurveDot(NamedTuple):
    """One length of one method: its place, its bar, what it is in words."""

    x: float
    y: float
    bar: tuple[float, float] | None
    description: str


class PlottedCurve(NamedTuple):
    """One method: a path, its dots, the dashed path of "right after its own edit", its name and where that stands."""

    label: str
    series: int
    shape: str
    path: str
    once: str
    dots: tuple[CurveDot, ...]
    text_y: float


FORGETTING = (
    "of all cases edited so far, with 95 % intervals: by case, two-way where neighbour facts recur. Dashed: the same "
    "cases asked right after their own edit; the distance is what later edits took away."
)
"""What a forgetting curve shows."""


class ForgettingPlot(NamedTuple):
    """The picture of one metric; ``rows`` are its figures for a table: edits, then a cell a method.

    ``axis`` is what is counted on the axis, ``caption`` what the picture shows.
    """

    title: str
    better: str
    lines: tuple[PlottedCurve, ...]
    x_ticks: tuple[tuple[float, int], ...]
    y_ticks: tuple[tuple[float, int], ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    axis: str = "edits in the model"
    caption: str = FORGETTING
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


def forgetting_plot(series: ForgettingSeries, order: Sequence[str] = ()) -> ForgettingPlot:
    """Curves with a logarithmic axis of edits and percent upwards; ``order``: the methods of the table."""
    lengths = sorted({s.edits for c in series.curves for s in c.spots})
    low, high = math.log(lengths[0]), math.log(lengths[-1])

    def across(n: int) -> float:
        share = 0.5 if high == low else (math.log(n) - low) / (high - low)
        return round(_LEFT + 14 + share * (WIDTH - _RIGHT - _LEFT - 28), 1)

    lines = []
    for n, curve in enumerate(series.curves):
        dots = []
        for spot in curve.spots:
            v = spot.value
            bar = None if v.low is None or v.high is None else (_y_of(v.low), _y_of(v.high))
            dot_label = (
                f"{curve.label}, {counted(spot.edits, 'edit')}: {mean_with_interval(v)} ({counted(v.n, 'case')})"
            )
            dots.append(CurveDot(across(spot.edits), _y_of(v.mean or 0.0), bar, dot_label))
        once = [(across(s.edits), _y_of(s.value.mean or 0.0)) for s in curve.at_once]
        path, dashed = _path([(d.x, d.y) for d in dots]), _path(once)
        lines.append(PlottedCurve(curve.label, *style_of(curve.label, order, n), path, dashed, tuple(dots), dots[-1].y))
    cells = {(c.label, s.edits): mean_with_interval(s.value) for c in series.curves for s in c.spots}
    labels = [c.label for c in series.curves]
    return ForgettingPlot(
        title=series.metric,
        better=series.better,
        lines=tuple(_spread_names(lines)),
        x_ticks=tuple((across(n), n) for n in lengths),
        y_ticks=tuple((_y_of(t / 100), t) for t in (0, 25, 50, 75, 100)),
        rows=tuple((n, tuple(cells.get((label, n), "–") for label in labels)) for n in lengths),
    )


def batch_size_plot(series: ForgettingSeries, order: Sequence[str] = ()) -> ForgettingPlot:
    """The same of documents that were edited in together."""
    caption = "of the documents of each batch, all of them in the model, with 95 % intervals by document."
    return forgetting_plot(series, order)._replace(axis="documents edited together", caption=caption)


def _y_of(fraction: float) -> float:
    return round(HEIGHT - _BOTTOM - min(max(fraction, 0.0), 1.0) * (HEIGHT - _TOP - _BOTTOM), 1)


def _path(points: list[tuple[float, float]]) -> str:
    return "" if len(points) < 2 else "M" + "L".join(f"{x} {y}" for x, y in points)


def _spread_names(lines: list[PlottedCurve]) -> list[PlottedCurve]:
    """Names at the right end, pushed apart so that none covers another."""
    order = sorted(range(len(lines)), key=lambda n: lines[n].text_y)
    at = -math.inf
    placed = {}
    for n in order:
        at = max(lines[n].text_y + 4, at + 15)
        placed[n] = at
    return [line._replace(text_y=round(placed[n], 1)) for n, line in enumerate(lines)]
