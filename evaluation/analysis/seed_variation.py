"""Variation over seeds: rows of one method that differ in nothing but the seed of its random draws."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.analysis.tables import Cell, FigureTable
from evaluation.metrics.base import Metric

SEED = "seed"


def seed_tables(table: Comparison, metrics: Sequence[Metric]) -> list[FigureTable]:
    """A table of each method with two seeds or more, all else equal; only rows that went through all cases.

    Cases are the same under every seed, so the variation is that of the method's own draws. Two or three seeds show
    that there is one; they do not measure it.
    """
    groups: dict[str, list[MethodRow]] = defaultdict(list)
    for row in table.rows:
        if SEED in row.params and not row.pending and not row.failed:
            groups[_without_seed(row)].append(row)
    out = []
    for rows in groups.values():
        rows.sort(key=lambda r: str(r.params[SEED]))
        seeds = [str(r.params[SEED]) for r in rows]
        if len(set(seeds)) > 1:
            lines = tuple(line for m in metrics if (line := _over_seeds(m, rows)))
            head = ("Metric", *(f"seed {seed}" for seed in seeds), "Mean", "SD", "Range")
            caption = "The same method on the same cases. This variation is not in the intervals, which are over cases."
            out.append(FigureTable(", ".join(r.label for r in rows), head, lines, caption))
    return out


def _without_seed(row: MethodRow) -> str:
    rest: dict[str, Any] = {k: v for k, v in row.params.items() if k != SEED}
    return json.dumps([row.editor, row.variant, row.edits, rest], sort_keys=True, default=str)


def _over_seeds(metric: Metric, rows: Sequence[MethodRow]) -> tuple[Cell, ...]:
    """Title, the value under every seed, their mean, standard deviation and range; empty where cases differ."""
    values = [row.summaries[metric.name].interval for row in rows]
    means = [value.mean for value in values if value.mean is not None]
    if len({value.n for value in values}) != 1 or len(means) < len(rows):
        return ()
    figures = (*means, fmean(means), stdev(means), max(means) - min(means))
    return (metric.title, *(values[0].alone._replace(mean=v) for v in figures))
