"""Runs in which many edits stand in one model: how metrics fall as edits are added, and what became of early ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.forgetting_curve import points
from evaluation.metrics.base import Metric, Normalisation
from evaluation.runs.results import Run


class Spot(NamedTuple):
    """A metric at one number of edits, over the cases edited so far: with its interval by case."""

    edits: int
    value: Interval


class Curve(NamedTuple):
    """One method's curve; ``at_once`` has the same cases, each asked right after its own edit."""

    label: str
    spots: tuple[Spot, ...]
    at_once: tuple[Spot, ...]


class Forgetting(NamedTuple):
    """The curves of one metric."""

    metric: str
    better: str
    curves: tuple[Curve, ...]


def forgetting(run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> list[Forgetting]:
    """Curves of every metric with a value; empty for runs whose edits do not follow each other."""
    if run.about["regime"] != "sequential":
        return []
    found = points(run, metrics, normalisation)
    out = []
    for metric in metrics:
        curves = []
        for label in dict.fromkeys(p.label for p in found):
            mine = [p for p in found if (p.label, p.metric) == (label, metric.name)]
            if mine:
                whole = [p for p in mine if p.new.n == p.all.n]
                spots = tuple(Spot(p.edits, p.all) for p in mine)
                curves.append(Curve(label, spots, tuple(Spot(p.edits, p.new) for p in whole)))
        if curves:
            out.append(Forgetting(metric.title, metric.better, tuple(curves)))
    return out
