"""Differences of metrics whose neighbours recur are clustered by case and by neighbour."""

from __future__ import annotations

from curation.stats.intervals import TWO_WAY
from evaluation.metrics import METRICS
from evaluation.metrics.base import case_mean_difference, paired_items
from schemas.answers import CaseScores, ItemScore


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


def test_a_difference_is_two_way_where_neighbours_recur() -> None:
    """Two neighbours decide everything: by case it would look certain."""
    now = {s.case: s for s in scores([(f"c{c}", n, float(n == "x")) for c in range(12) for n in "xy"])}
    then = {s.case: s for s in scores([(f"c{c}", n, 0.0) for c in range(12) for n in "xy"])}
    items = paired_items(now, then)
    assert len(items) == 24 and {i.neighbour for i in items} == {"x", "y"}
    interval = case_mean_difference(METRICS.get("s_ns")(), now, then)
    assert interval.kind == TWO_WAY and interval.mean == 0.5 and interval.low < 0
    single_share = {k: s for k, s in now.items() if k == "c0"}
    assert case_mean_difference(METRICS.get("s_ns")(), single_share, then).low is None
    assert paired_items(now, {}) == []
