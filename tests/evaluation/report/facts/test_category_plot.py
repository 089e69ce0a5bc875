"""Lines over columns: the best on top, everything inside the picture, names apart."""

from __future__ import annotations

import itertools

from curation.stats.intervals import Interval
from evaluation.analysis.facts.method_order import MethodOrder, OrderCondition
from evaluation.analysis.facts.strictness import CRITERIA, StrictnessCurve
from evaluation.report.facts.category_plot import rank_plot, strictness_plot


def condition(title: str, **ranks: float) -> OrderCondition:
    return OrderCondition(title, {}, ranks, 1.0, None, 1.0)


def test_ranks_stand_one_over_the_other() -> None:
    order = MethodOrder(
        "efficacy", ("a", "b", "c"), 6, (condition("ES", a=1, b=2, c=3), condition("PS", a=3, b=1.5, c=1.5))
    )
    plot = rank_plot(order)
    ys = {line.label: [d.y for d in line.dots] for line in plot.lines}
    assert ys["a"][0] < ys["b"][0] < ys["c"][0] and ys["b"][1] == ys["c"][1] < ys["a"][1]
    assert [t for _, t in plot.y_ticks] == ["1", "2", "3"] and [t for _, t in plot.columns] == ["ES", "PS"]
    for line in plot.lines:
        assert all(plot.left <= d.x <= plot.right and plot.top <= d.y <= plot.bottom for d in line.dots)
    texts = sorted(line.text_y for line in plot.lines)
    assert all(b - a >= 15 for a, b in itertools.pairwise(texts)) and texts[-1] < plot.height
    assert plot.lines[0].dots[0].description == "a, ES: rank 1 of 3"


def test_a_criterion_without_a_value_leaves_a_gap_and_twenty_names_stay_inside() -> None:
    share = Interval(0.5, None, 4, (0.2, 0.8))
    curves = [StrictnessCurve(f"m{n}", "unrelated", 8, (None, *(share,) * (len(CRITERIA) - 1))) for n in range(20)]
    plot = strictness_plot("unrelated prompts", curves)
    assert {len(line.dots) for line in plot.lines} == {len(CRITERIA) - 1}
    assert max(line.text_y for line in plot.lines) < plot.height and plot.lines[0].dots[0].bar is not None
    assert len({(line.series, line.shape) for line in plot.lines}) == 20, "no two lines look alike"


def test_many_columns_stay_within_a_page_and_the_names_of_columns_within_the_picture() -> None:
    long = [condition(f"ES-argmax, batch of {n}", a=1, b=2, c=3) for n in range(14)]
    plot = rank_plot(MethodOrder("efficacy", ("a", "b", "c"), 6, tuple(long)))
    assert plot.width <= 1100
    for x, title in plot.columns:
        assert x - 5.5 * len(title) >= 0, "slanted to the left, at 12 pixels a little over 5 of them a letter"
    few = rank_plot(MethodOrder("efficacy", ("a", "b", "c"), 6, tuple(long[:2])))
    assert few.columns[1][0] - few.columns[0][0] > plot.columns[1][0] - plot.columns[0][0] >= 50
