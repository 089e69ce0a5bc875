"""How many cases show a difference between two methods, by the variance of a run that is there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from curation.stats.intervals import LEAST_CASES
from curation.stats.paired import cases_needed
from evaluation.editors.baselines import CONTROL_METHODS
from evaluation.metrics.base import Metric
from evaluation.runs.frame import Scores
from evaluation.runs.results import Run


def sample_sizes(
    run: Run, scores: Scores, metrics: Sequence[Metric], *, differences: Sequence[float], power: float, family: int
) -> list[dict[str, Any]]:
    """For every metric whose values vary over five cases or more: the cases that a paired test needs (t, 5 %).

    ``cases``: of the run, the fewest that a pair of methods has in common. ``pairs``: those of methods whose values
    differ in some case. ``sd``: of the paired differences over cases, of the median pair and of the widest. ``needed``:
    for these two, by difference in points of 100; at least as many as an interval needs.

    Args:
        run: A run with two methods at least, control methods aside. Only rows that are asked in one form make a pair:
            ``rome [chat]`` and ``ft [chat]``, not ``rome`` and ``rome [chat]``.
        scores: Its scores.
        metrics: Which metrics; pooled ones, which are no mean over cases, are left out.
        differences: True differences of the means, in the metric's own unit (0.05 for five points of a share).
        power: Chance to find the difference.
        family: Comparisons that are corrected for (Bonferroni).
    """
    forms = {e.label: e.variant for e in run.editors if e.manifest.editor not in CONTROL_METHODS}
    out = []
    for metric in metrics:
        if metric.pooled:
            continue
        values = {label: scores.means(label, metric.name) for label in forms}
        found = []
        for first, second in combinations(forms, 2):
            if forms[first] != forms[second]:
                continue
            common = values[first].keys() & values[second].keys()
            if len(common) >= LEAST_CASES:
                gaps = [values[first][case] - values[second][case] for case in sorted(common)]
                found.append((float(np.std(gaps, ddof=1)), len(common)))
        spreads = sorted(sd for sd, _ in found if sd > 0)
        if not spreads:
            continue
        middle, widest = spreads[(len(spreads) - 1) // 2], spreads[-1]
        needed = {}
        for gap in differences:
            few, many = (cases_needed(gap, sd=sd, power=power, family=family) for sd in (middle, widest))
            needed[f"{100 * gap:g}"] = max(few, LEAST_CASES), max(many, LEAST_CASES)
        least = min(n for _, n in found)
        figures = {"cases": least, "pairs": len(spreads), "sd": (middle, widest), "needed": needed}
        out.append({"metric": metric.name, **figures})
    return out
