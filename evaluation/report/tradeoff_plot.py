"""The efficacy-locality plane: where every editor stands between changing the fact and leaving others alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evaluation.analysis.comparison import Comparison
from evaluation.metrics.base import Metric, Role
from evaluation.report.formatting import mean_with_interval

WIDTH, HEIGHT = 560, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 56
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "plus")


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


_PAIRS: tuple[tuple[Role, Role], ...] = (
    ("script_locality", "script_efficacy"),
    ("locality", "efficacy"),
    ("document_locality", "document_efficacy"),
)


class PlotPoint(NamedTuple):
    """One editor in picture coordinates; bars are (low, high), clipped to the axes, None where there is no interval."""

    label: str
    x: float
    y: float
    bar_x: tuple[float, float] | None
    bar_y: tuple[float, float] | None
    shape: str
    series: int
    text_x: float
    text_y: float
    anchor: str
    description: str


class TradeoffPlot(NamedTuple):
    """The picture: axes titles, tick positions (place, number), points."""

    x_title: str
    y_title: str
    x_ticks: tuple[tuple[float, int], ...]
    y_ticks: tuple[tuple[float, int], ...]
    points: tuple[PlotPoint, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


def tradeoff_plot(table: Comparison, metrics: Sequence[Metric]) -> TradeoffPlot | None:
    """The plane of S-ES over S-NS (else ES over NS, or EM over specificity); None where no editor has both."""
    pairs = [
        (right, up)
        for locality, efficacy in _PAIRS
        for right in metrics
        for up in metrics
        if right.role == locality and up.role == efficacy
    ]
    for right, up in pairs:
        both = (right.name, up.name)
        rows = [r for r in table.rows if all(r.summaries[name].mean is not None for name in both)]
        if rows:
            break
    else:
        return None
    points: list[PlotPoint] = []
    for n, row in enumerate(rows):
        x, y = row.summaries[right.name].interval, row.summaries[up.name].interval
        assert x.mean is not None and y.mean is not None
        label = f"{row.label}: {up.title} {mean_with_interval(y)}, {right.title} {mean_with_interval(x)}"
        points.append(
            PlotPoint(
                label=row.label,
                x=_x_of(x.mean),
                y=_y_of(y.mean),
                bar_x=None if x.low is None or x.high is None else (_x_of(x.low), _x_of(x.high)),
                bar_y=None if y.low is None or y.high is None else (_y_of(y.low), _y_of(y.high)),
                shape=mark_style(n).shape,
                series=mark_style(n).series,
                text_x=0.0,
                text_y=0.0,
                anchor="start",
                description=label,
            )
        )
    ticks = (0, 25, 50, 75, 100)
    return TradeoffPlot(
        x_title=f"{right.title} (%): other facts are left alone →",
        y_title=f"{up.title} (%): the edit took →",
        x_ticks=tuple((_x_of(t / 100), t) for t in ticks),
        y_ticks=tuple((_y_of(t / 100), t) for t in ticks),
        points=tuple(_place_labels(points)),
    )


def _x_of(fraction: float) -> float:
    return round(_LEFT + min(max(fraction, 0.0), 1.0) * (WIDTH - _LEFT - _RIGHT), 1)


def _y_of(fraction: float) -> float:
    return round(HEIGHT - _BOTTOM - min(max(fraction, 0.0), 1.0) * (HEIGHT - _TOP - _BOTTOM), 1)


def _place_labels(points: Sequence[PlotPoint]) -> list[PlotPoint]:
    """Every label beside its point where it covers no other label, no point and no edge, nearest places first."""
    taken = [(p.x - 7, p.y - 7, p.x + 7, p.y + 7) for p in points]
    bars = [(p.bar_x[0], p.y - 1, p.bar_x[1], p.y + 1) for p in points if p.bar_x]
    bars += [(p.x - 1, min(p.bar_y), p.x + 1, max(p.bar_y)) for p in points if p.bar_y]
    out = []
    for p in points:
        wide = 8.0 * len(p.label)
        best = None
        for reach in range(12, 172, 16):  # a label is 15 high
            places = [(p.x + 10, p.y - reach, "start"), (p.x - 10, p.y - reach, "end")]
            places += [(p.x + 10, p.y + reach + 4, "start"), (p.x - 10, p.y + reach + 4, "end")]
            for x, y, anchor in places:
                box = (x if anchor == "start" else x - wide, y - 12, x + wide if anchor == "start" else x, y + 3)
                inside = box[0] > _LEFT and box[2] < WIDTH - 2 and box[1] > 2 and box[3] < HEIGHT - _BOTTOM
                cost = sum(_meet(box, t) for t in taken) * 10 + sum(_meet(box, b) for b in bars) + (not inside) * 100
                if best is None or cost < best[0]:
                    best = (cost, x, y, anchor, box)
        assert best is not None
        taken.append(best[4])
        out.append(p._replace(text_x=round(best[1], 1), text_y=round(best[2], 1), anchor=best[3]))
    return out


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
