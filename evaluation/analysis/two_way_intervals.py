"""Intervals of metrics whose prompts belong to a case and to a neighbour fact that can recur in other cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.stats.bootstrap import DEFAULT, Resampling, two_way_bootstrap, two_way_interval
from curation.stats.bounded import PairedItem, difference_interval
from curation.stats.estimates import Estimate
from curation.stats.intervals import Interval
from evaluation.metrics.base import Metric, scale_of
from schemas.answers import CaseScores


class TwoWayInterval(NamedTuple):
    """The mean of case means with both clusterings at once.

    Attributes:
        formula: ± 1.96 standard errors from V(case) + V(neighbour) - V(both) (Cameron, Gelbach and Miller 2011).
        bootstrap: Percentile interval of the crossed ("pigeonhole") bootstrap (Owen 2007).
        neighbours: Neighbour facts.
        recurring: Those of them that serve in two cases or more.
    """

    formula: Interval
    bootstrap: Estimate
    neighbours: int
    recurring: int


def two_way_intervals(scores: Sequence[CaseScores], resampling: Resampling = DEFAULT) -> TwoWayInterval | None:
    """Two-way clustered intervals of one metric; None where prompts have no second cluster.

    Where no neighbour recurs, cases are independent as far as the data say and the interval by case is the right one:
    the two-way ones are then left undefined, with that as the reason.

    Args:
        scores: Scores by case; unscored items count nowhere, as in the mean.
        resampling: Resamples, seed and confidence of the bootstrap.
    """
    rows = [(s.case, i.cluster, i.value) for s in scores for i in s.items if i.value is not None]
    if not rows or any(cluster is None for _, cluster, _ in rows):
        return None
    values = [float(v) for _, _, v in rows]
    cases, neighbours = [c for c, _, _ in rows], [str(n) for _, n, _ in rows]
    homes: dict[str, set[str]] = defaultdict(set)
    for case, neighbour in zip(cases, neighbours, strict=True):
        homes[neighbour].add(case)
    recurring = sum(len(scored) > 1 for scored in homes.values())
    if not recurring:
        none = Estimate("mean of case means", None, reason="no neighbour fact recurs in a second case")
        return TwoWayInterval(Interval(None, None, 0), none, len(homes), 0)
    formula = two_way_interval(values, cases, neighbours)
    return TwoWayInterval(formula, two_way_bootstrap(values, cases, neighbours, resampling), len(homes), recurring)


def paired_items(first: Mapping[str, CaseScores], second: Mapping[str, CaseScores]) -> list[PairedItem]:
    """Prompts with a neighbour fact that both sides have a value for; empty where a metric has none."""
    out = []
    for key, mine in first.items():
        theirs = {i.probe: i.value for i in second[key].items} if key in second else {}
        for i in mine.items:
            other = theirs.get(i.probe)
            if i.cluster is not None and i.value is not None and other is not None:
                out.append(PairedItem(key, i.cluster, i.value, other))
    return out


def score_difference(metric: Metric, first: Mapping[str, CaseScores], second: Mapping[str, CaseScores]) -> Interval:
    """Mean of ``first - second`` over the cases that both have: two-way where the metric's neighbours recur."""
    scale = scale_of(metric, (s for key, s in first.items() if key in second))
    one, two = ({k: s.mean for k, s in side.items() if s.mean is not None} for side in (first, second))
    return difference_interval(one, two, scale=scale, items=paired_items(first, second))
