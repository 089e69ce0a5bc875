"""Runs in which many edits stand in one model: how metrics fall as edits are added, and what became of early ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.stats.intervals import Interval, mean_interval
from evaluation.compare import chosen
from evaluation.metrics.base import Metric, Normalisation
from evaluation.results import Run
from schemas.cases import Answer
from schemas.runs import CaseResult


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
    """Curves of every metric with a value; empty for runs in which each edit is made alone."""
    if run.about["regime"] == "single":
        return []
    cases = chosen(run)
    before = {k: _answers(r.answers) for k, r in run.baseline.results.items() if r.error is None}
    units: dict[str, list[CaseResult]] = {}
    for editor in run.editors:
        if editor.folder is not None and editor.label != run.baseline.label:
            found = editor.folder.units().values()
            units[editor.label] = [u for u in found if u.case in cases and u.error is None and u.after]
    out = []
    for metric in metrics:
        curves = []
        for label, mine in units.items():
            means: dict[tuple[str, int], float] = {}
            position: dict[str, int] = {}
            for u in mine:
                score = metric.score(cases[u.case], _answers(u.answers), before.get(u.case, {}), normalisation)
                if score.mean is not None and u.after:
                    means[(u.case, u.after)] = score.mean
                    position[u.case] = u.position or u.after
            if curve := _curve(label, means, position):
                curves.append(curve)
        if curves:
            out.append(Forgetting(metric.title, metric.better, tuple(curves)))
    return out


def _curve(label: str, means: Mapping[tuple[str, int], float], position: Mapping[str, int]) -> Curve | None:
    """Lengths at which every case edited so far was asked; cases of one edit position are few at length 1."""
    at: dict[int, dict[str, float]] = defaultdict(dict)
    for (case, after), value in means.items():
        at[after][case] = value
    whole = [n for n in sorted(at) if len(at[n]) == sum(p <= n for p in position.values())]
    spots = [Spot(n, mean_interval(list(at[n].values()))) for n in whole]
    first = {c: at[p][c] for c, p in position.items() if c in at.get(p, {})}
    once = []
    for n in whole:
        mine = [first[c] for c in at[n] if c in first]
        if len(mine) == len(at[n]):
            once.append(Spot(n, mean_interval(mine)))
    return Curve(label, tuple(spots), tuple(once)) if spots else None


def _answers(answers: Sequence[Answer]) -> dict[str, Answer]:
    return {a.probe: a for a in answers}
