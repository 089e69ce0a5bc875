"""Variation over seeds: rows of one method that differ in nothing but the seed of its random draws."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.metrics.base import Metric

SEED = "seed"


class SeedVariation(NamedTuple):
    """One metric of one method over its seeds.

    Attributes:
        metric: Name of the metric.
        values: Seed -> mean over the same cases, in the order of the seeds.
        mean: Over the seeds.
        sd: Standard deviation over the seeds (n - 1). ``low``, ``high``: their range.
    """

    metric: str
    values: tuple[tuple[str, float], ...]
    mean: float
    sd: float
    low: float
    high: float


class RepeatedMethod(NamedTuple):
    """A method that was run with several seeds: its labels in the tables, and its variation by metric."""

    labels: tuple[str, ...]
    metrics: tuple[SeedVariation, ...]


def seed_variation(table: Comparison, metrics: Sequence[Metric]) -> list[RepeatedMethod]:
    """Methods of a table with at least two seeds, all else equal; only rows that went through all cases.

    Cases are the same under every seed, so the spread is that of the method's own draws. Two or three seeds show that
    there is one; they do not measure it.
    """
    groups: dict[str, list[MethodRow]] = defaultdict(list)
    for row in table.rows:
        if SEED in row.params and not row.pending and not row.failed:
            groups[_but_for_the_seed(row)].append(row)
    out = []
    for rows in groups.values():
        rows.sort(key=lambda r: str(r.params[SEED]))
        if len({str(r.params[SEED]) for r in rows}) > 1:
            variations = [v for m in metrics if (v := _over_seeds(m.name, rows)) is not None]
            out.append(RepeatedMethod(tuple(r.label for r in rows), tuple(variations)))
    return out


def _but_for_the_seed(row: MethodRow) -> str:
    rest: dict[str, Any] = {k: v for k, v in row.params.items() if k != SEED}
    return json.dumps([row.editor, row.variant, row.edits, rest], sort_keys=True, default=str)


def _over_seeds(metric: str, rows: Sequence[MethodRow]) -> SeedVariation | None:
    known = [(str(r.params[SEED]), r.summaries[metric]) for r in rows]
    if len({s.cases for _, s in known}) != 1:
        return None
    values = [(seed, s.mean) for seed, s in known if s.mean is not None]
    if len(values) < len(known):
        return None
    means = [v for _, v in values]
    return SeedVariation(metric, tuple(values), fmean(means), stdev(means), min(means), max(means))
