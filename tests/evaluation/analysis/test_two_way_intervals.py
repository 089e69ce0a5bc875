"""Two-way clustering where neighbours recur: equal to the statistics beneath, and wider where it should be."""

from __future__ import annotations

import numpy as np
import pytest

from curation.stats.bootstrap import Resampling, two_way_bootstrap, two_way_interval
from curation.stats.intervals import TWO_WAY, mean_interval
from evaluation.analysis.two_way_intervals import paired_items, score_difference, two_way_intervals
from evaluation.metrics import METRICS
from schemas.answers import CaseScores, ItemScore

HOW = Resampling(300, seed=4)


def scores(rows: list[tuple[str, str | None, float | None]]) -> list[CaseScores]:
    cases = dict.fromkeys(c for c, _, _ in rows)
    return [
        CaseScores(
            case=case,
            metric="s_ns",
            items=tuple(
                ItemScore(probe=f"p{n}", item="i", cluster=k, value=v, reason="" if v is not None else "no answer")
                for n, (c, k, v) in enumerate(rows)
                if c == case
            ),
        )
        for case in cases
    ]


def shared(rng: np.random.Generator) -> list[tuple[str, str | None, float | None]]:
    """40 cases that draw from 8 neighbours, and neighbours that decide most of the value."""
    effect = rng.normal(size=8)
    return [
        (f"c{c}", f"n{n}", float(effect[n] + 0.2 * rng.normal()))
        for c in range(40)
        for n in rng.choice(8, size=3, replace=False)
    ]


def test_equals_the_statistics_and_is_wider_than_by_case():
    rows = shared(np.random.default_rng(3))
    interval = two_way_intervals(scores(rows), HOW)
    values, cases, neighbours = [v for _, _, v in rows], [c for c, _, _ in rows], [n for _, n, _ in rows]
    assert interval.formula == two_way_interval(values, cases, neighbours)
    assert interval.bootstrap == two_way_bootstrap(values, cases, neighbours, HOW)
    by_case = mean_interval([np.mean([v for c2, _, v in rows if c2 == c]) for c in dict.fromkeys(cases)])
    assert interval.formula.half > 1.5 * by_case.half
    assert interval.bootstrap.high - interval.bootstrap.low > 3 * by_case.half
    assert (interval.neighbours, interval.recurring) == (8, 8)


def test_unscored_items_count_nowhere():
    rows = [("a", "x", 1.0), ("a", "y", None), ("b", "x", 0.0)]
    assert two_way_intervals(scores(rows), HOW).neighbours == 1


def test_where_nothing_recurs_it_says_so():
    interval = two_way_intervals(scores([("a", "x", 1.0), ("b", "y", 0.0)]), HOW)
    assert interval.recurring == 0 and interval.formula.half is None
    assert "no neighbour fact recurs" in interval.bootstrap.reason


@pytest.mark.parametrize("rows", [[], [("a", None, 1.0), ("b", None, 0.0)]])
def test_no_second_cluster_no_two_way(rows):
    assert two_way_intervals(scores(rows), HOW) is None


def test_a_difference_is_two_way_where_neighbours_recur() -> None:
    """Two neighbours decide everything: by case it would look certain."""
    now = {s.case: s for s in scores([(f"c{c}", n, float(n == "x")) for c in range(12) for n in "xy"])}
    then = {s.case: s for s in scores([(f"c{c}", n, 0.0) for c in range(12) for n in "xy"])}
    items = paired_items(now, then)
    assert len(items) == 24 and {i.neighbour for i in items} == {"x", "y"}
    interval = score_difference(METRICS.get("s_ns")(), now, then)
    assert interval.kind == TWO_WAY and interval.mean == 0.5 and interval.low < 0
    single_share = {k: s for k, s in now.items() if k == "c0"}
    assert score_difference(METRICS.get("s_ns")(), single_share, then).low is None
    assert paired_items(now, {}) == []
