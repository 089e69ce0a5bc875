"""Forgetting curves as a picture: axes, bars, names that do not cover each other, the table beside it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from curation.stats.intervals import Interval
from evaluation.analysis.forgetting_series import CurvePoint, ForgettingCurve, ForgettingSeries
from evaluation.report.forgetting_plot import ForgettingPlot, PlottedCurve, forgetting_plot


def curve(label: str, values: dict[int, Interval], once: dict[int, float] | None = None) -> ForgettingCurve:
    spots = tuple(CurvePoint(n, v) for n, v in values.items())
    return ForgettingCurve(label, spots, tuple(CurvePoint(n, Interval(v, 0.0, n)) for n, v in (once or {}).items()))


def flat(label: str, value: float, lengths: tuple[int, ...] = (1, 10, 100)) -> ForgettingCurve:
    return curve(label, {n: Interval(value, 0.1, n) for n in lengths})


def plotted(*curves: ForgettingCurve) -> ForgettingPlot:
    return forgetting_plot(ForgettingSeries("S-ES", "higher", curves))


def points(path: str) -> list[tuple[float, float]]:
    return [tuple(map(float, p.split())) for p in path.removeprefix("M").split("L")]  # type: ignore[misc]


def test_tenfold_lengths_stand_equally_far_apart() -> None:
    plot = plotted(flat("rome", 0.5))
    (a, one), (b, ten), (c, hundred) = plot.x_ticks
    assert (one, ten, hundred) == (1, 10, 100) and b - a == pytest.approx(c - b, abs=0.2)
    assert plot.left < a < b < c < plot.right


def test_more_is_higher_and_the_axis_ends_at_all_and_none() -> None:
    plot = plotted(curve("rome", {1: Interval(1.0, None, 1), 2: Interval(0.25, None, 2), 4: Interval(0.0, None, 4)}))
    high, low, least = (dot.y for dot in plot.lines[0].dots)
    assert high == plot.top and least == plot.bottom
    assert (plot.bottom - low) / (plot.bottom - plot.top) == pytest.approx(0.25, abs=0.001)
    ticks = {t: y for y, t in plot.y_ticks}
    assert (ticks[0], ticks[25], ticks[100]) == (plot.bottom, low, plot.top)
    assert ticks[50] == pytest.approx((plot.top + plot.bottom) / 2, abs=0.1)


def test_what_leaves_the_picture_is_cut_at_its_edge() -> None:
    plot = plotted(curve("rome", {1: Interval(0.9, 0.3, 5), 10: Interval(-0.2, None, 5)}))
    first, last = plot.lines[0].dots
    assert first.bar is not None and min(first.bar) == plot.top and max(first.bar) < plot.bottom
    assert last.y == plot.bottom and last.bar is None


def test_one_length_is_a_dot_without_a_line() -> None:
    """A sequence with one length: no division by the width of nothing, and no path of one point."""
    (line,) = (plot := plotted(flat("rome", 0.5, (7,)))).lines
    assert line.path == "" and line.once == "" and len(line.dots) == 1
    assert plot.x_ticks == ((line.dots[0].x, 7),) and plot.left < line.dots[0].x < plot.right
    assert math.isfinite(line.text_y)


def test_a_case_alone_has_no_bar_and_says_so() -> None:
    (dot,) = plotted(curve("rome", {1: Interval(1.0, None, 1)})).lines[0].dots
    assert dot.bar is None and dot.description == "rome, 1 edit: 100.0 [n = 1: too few] (1 case)"


def test_the_dashed_line_is_what_cases_had_on_the_spot() -> None:
    (line,) = plotted(
        curve("rome", {1: Interval(1.0, 0.0, 1), 2: Interval(0.5, 0.0, 2), 4: Interval(0.0, 0.0, 4)}, {1: 1.0, 4: 0.75})
    ).lines
    solid, dashed = points(line.path), points(line.once)
    assert [x for x, _ in dashed] == [solid[0][0], solid[2][0]] and dashed[1][1] < solid[2][1]


@pytest.mark.parametrize("values", [[0.5] * 6, [0.50, 0.51, 0.49, 0.52, 0.1, 0.1], [1.0, 0.0]])
def test_no_name_covers_another(values: list[float]) -> None:
    lines = plotted(*(flat(f"m{n}", v) for n, v in enumerate(values))).lines
    places = sorted(line.text_y for line in lines)
    assert all(b - a >= 14.9 for a, b in pairwise(places))
    assert [line.label for line in lines] == [f"m{n}" for n in range(len(values))], "the order of the report stays"

    def end(line: PlottedCurve) -> tuple[float, str]:
        return line.dots[-1].y, line.label

    assert sorted(lines, key=end) == sorted(lines, key=lambda one: one.text_y), "names in the order of the ends"


def test_methods_of_other_lengths_share_axis_and_table() -> None:
    plot = plotted(flat("rome", 0.5, (1, 10)), flat("ft", 0.25, (10, 100)))
    assert [n for n, _ in plot.rows] == [1, 10, 100]
    assert [cells for _, cells in plot.rows] == [
        ("50.0 ± 10.0", "–"), ("50.0 ± 10.0", "25.0 ± 10.0"), ("–", "25.0 ± 10.0")
    ]  # fmt: skip


def test_more_methods_than_shapes_begin_again() -> None:
    lines = plotted(*(flat(f"m{n}", n / 20) for n in range(20))).lines
    assert len({line.label for line in lines}) == 20
    assert len({(line.series, line.shape) for line in lines}) == 20, "no two lines look alike"
    assert max(line.series for line in lines) < 20
