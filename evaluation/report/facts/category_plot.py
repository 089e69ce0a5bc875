"""Lines over named columns in picture coordinates: ranks over conditions, shares over criteria; one line a method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evaluation.analysis.facts.method_order import MethodOrder
from evaluation.analysis.facts.strictness import CRITERIA, StrictnessCurve
from evaluation.report.formatting import mean_with_interval
from evaluation.report.interval_plot import style_of

_LEFT, _TOP, _NAMES, _LABELS = 52, 16, 150, 92
_STEPS = (52, 92)
"""Least and most between two columns: as much as a picture of ``_WIDTH`` leaves."""
_WIDTH = 1080
_LETTER = 5.5
"""How far a letter of a slanted column title reaches to the left, at 12 pixels."""
_ROW = 26


class CategoryDot(NamedTuple):
    """One value: its place, its bar, and what it is in words."""

    x: float
    y: float
    bar: tuple[float, float] | None
    description: str


class CategoryLine(NamedTuple):
    """One method: path, dots, name and where that stands."""

    label: str
    series: int
    shape: str
    path: str
    dots: tuple[CategoryDot, ...]
    text_y: float


class CategoryPlot(NamedTuple):
    """The picture: columns with their places, ticks upwards, lines; ``axis`` is what is shown upwards."""

    title: str
    axis: str
    columns: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    lines: tuple[CategoryLine, ...]
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


class _Value(NamedTuple):
    column: int
    share: float  # 0 at the bottom, 1 at the top
    ends: tuple[float, float] | None
    description: str


def rank_plot(order: MethodOrder, labels: Sequence[str] = ()) -> CategoryPlot:
    """Ranks over conditions, the best method on top; ``labels``: the methods of the table."""
    count = len(order.methods)

    def upwards(rank: float) -> float:
        return 1 - (rank - 1) / max(count - 1, 1)

    lines = {
        method: [
            _Value(n, upwards(c.ranks[method]), None, f"{method}, {c.title}: rank {c.ranks[method]:g} of {count}")
            for n, c in enumerate(order.conditions)
        ]
        for method in order.methods
    }
    ticks = [(upwards(rank), str(rank)) for rank in range(1, count + 1)]
    titles = [c.title for c in order.conditions]
    return _plot(f"Order of methods by {order.subject}", "rank", titles, ticks, lines, max(160, _ROW * count), labels)


def strictness_plot(title: str, curves: Sequence[StrictnessCurve], labels: Sequence[str] = ()) -> CategoryPlot:
    """Shares of prompts that count as unmoved, over criteria from loose to strict."""
    lines = {}
    for curve in curves:
        values = []
        for n, share in enumerate(curve.shares):
            if share is not None and share.mean is not None:
                ends = None if share.low is None or share.high is None else (share.low, share.high)
                text = f"{curve.label}, {CRITERIA[n]}: {mean_with_interval(share)}"
                values.append(_Value(n, share.mean, ends, text))
        lines[curve.label] = values
    ticks = [(t / 100, str(t)) for t in (0, 25, 50, 75, 100)]
    return _plot(f"Unmoved {title}", "unmoved prompts (%)", CRITERIA, ticks, lines, 260, labels)


def _plot(
    title: str,
    axis: str,
    columns: Sequence[str],
    ticks: Sequence[tuple[float, str]],
    lines: dict[str, list[_Value]],
    tall: int,
    order: Sequence[str],
) -> CategoryPlot:
    gaps = max(len(columns) - 1, 1)
    reaches = (math.ceil(_LETTER * len(name)) - 14 - _STEPS[0] * n for n, name in enumerate(columns))
    left = max(_LEFT, *reaches)
    step = min(max((_WIDTH - left - 28 - _NAMES) // gaps, _STEPS[0]), _STEPS[1])
    bottom, right = _TOP + tall, left + 28 + step * gaps

    def across(n: int) -> float:
        return float(left + 14 + step * n)

    def down(share: float) -> float:
        return round(bottom - 10 - min(max(share, 0.0), 1.0) * (tall - 20), 1)

    drawn = []
    for n, (label, values) in enumerate(lines.items()):
        dots = tuple(
            CategoryDot(across(v.column), down(v.share), v.ends and (down(v.ends[0]), down(v.ends[1])), v.description)
            for v in values
        )
        path = "M" + "L".join(f"{d.x} {d.y}" for d in dots) if len(dots) > 1 else ""
        end = dots[-1].y if dots else float(bottom)
        drawn.append(CategoryLine(label, *style_of(label, order, n), path, dots, end))
    named = _apart(drawn)
    lowest = max([bottom, *(line.text_y for line in named)])
    return CategoryPlot(
        title=title,
        axis=axis,
        columns=tuple((across(n), name) for n, name in enumerate(columns)),
        y_ticks=tuple((down(share), name) for share, name in ticks),
        lines=tuple(named),
        width=right + _NAMES,
        height=round(lowest) + _LABELS,
        left=left,
        right=right,
        top=_TOP,
        bottom=bottom,
    )


def _apart(lines: list[CategoryLine]) -> list[CategoryLine]:
    """Names at the right end, pushed apart so that none covers another."""
    at, placed = float("-inf"), {}
    for n in sorted(range(len(lines)), key=lambda n: lines[n].text_y):
        at = max(lines[n].text_y + 4, at + 15)
        placed[n] = round(at, 1)
    return [line._replace(text_y=placed[n]) for n, line in enumerate(lines)]
