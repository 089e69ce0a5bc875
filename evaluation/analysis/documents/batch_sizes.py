"""Metrics by the number of documents that are edited in together (MULFE Figure 5): a row a size.

Sizes are those of one run (``size = [1, 5, 20]``) or of several that are reported together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Comparison
from evaluation.analysis.forgetting_series import CurvePoint, ForgettingCurve, ForgettingSeries
from evaluation.metrics import METRICS as ALL_METRICS
from evaluation.regimes.config import regime_title
from evaluation.runs.results import Run

METRICS = ("em", "em_1", "em_2", "em_3", "em_spec")


class BatchSizeRow(NamedTuple):
    """A method at one size: its name, the number of documents edited together, and the metrics that the run has.

    ``name`` is its label without the size: the same method with other options or another simplification has its own.
    """

    name: str
    method: str
    size: int
    values: dict[str, Interval]


def batch_sizes(run: Run, table: Comparison) -> tuple[BatchSizeRow, ...]:
    """Rows of every method that was run with several sizes, 1 for ``single``, ascending; empty where none was."""
    regimes = {e.label: e.manifest.regime for e in run.editors}
    rows_of: dict[str, dict[int, BatchSizeRow]] = {}
    for row in table.rows:
        size = size_of(regimes[row.label])
        if size is None or row.baseline:
            continue
        name = row.label.removesuffix(f" ({regime_title(regimes[row.label])})")
        values = {m: row.summaries[m].interval for m in METRICS if m in row.summaries}
        rows_of.setdefault(name, {})[size] = BatchSizeRow(name, row.editor, size, values)
    return tuple(rows[size] for rows in rows_of.values() if len(rows) > 1 for size in sorted(rows))


def size_curves(rows: Sequence[BatchSizeRow]) -> list[ForgettingSeries]:
    """The rows as curves over the number of documents, one picture a metric, a line a method."""
    out = []
    for metric in dict.fromkeys(name for row in rows for name in row.values):
        points: dict[str, list[CurvePoint]] = {}
        for row in rows:
            if metric in row.values and row.values[metric].mean is not None:
                points.setdefault(row.name, []).append(CurvePoint(row.size, row.values[metric]))
        curves = tuple(ForgettingCurve(name, tuple(spots), ()) for name, spots in points.items())
        if curves:
            kind = ALL_METRICS.get(metric)
            out.append(ForgettingSeries(kind.title, kind.better, curves))
    return out


def size_of(regime: str) -> int | None:
    """The number of edits made together; None in a sequence.

    Example:
        >>> size_of("single"), size_of("batch:20"), size_of("sequential")
        (1, 20, None)
    """
    name, _, size = regime.partition(":")
    return 1 if name == "single" else int(size) if name == "batch" else None
