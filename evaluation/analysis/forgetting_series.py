"""Runs in which many edits stand in one model: how metrics fall as edits are added, and what became of early ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.forgetting_curve import forgetting_points
from evaluation.metrics.base import Metric, Normalisation
from evaluation.runs.results import Run


class CurvePoint(NamedTuple):
    """A metric at one number of edits over the cases edited so far, its interval two-way where neighbours recur."""

    edits: int
    value: Interval


class ForgettingCurve(NamedTuple):
    """One method's curve; ``at_once`` has the same cases, each asked right after its own edit."""

    label: str
    spots: tuple[CurvePoint, ...]
    at_once: tuple[CurvePoint, ...]


class ForgettingSeries(NamedTuple):
    """The curves of one metric."""

    metric: str
    better: str
    curves: tuple[ForgettingCurve, ...]


def forgetting_series(run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> list[ForgettingSeries]:
    """Curves of every metric with a value; empty for runs whose edits do not follow each other."""
    if "sequential" not in run.regimes:
        return []
    points = forgetting_points(run, metrics, normalisation)
    out = []
    for metric in metrics:
        curves = []
        for label in dict.fromkeys(p.label for p in points):
            mine = [p for p in points if (p.label, p.metric) == (label, metric.name)]
            if mine:
                whole = [p for p in mine if p.new.n == p.all.n]
                spots = tuple(CurvePoint(p.edits, p.all) for p in mine)
                curves.append(ForgettingCurve(label, spots, tuple(CurvePoint(p.edits, p.new) for p in whole)))
        if curves:
            out.append(ForgettingSeries(metric.title, metric.better, tuple(curves)))
    return out
