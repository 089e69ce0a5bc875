"""Metrics by the number of documents that are edited in together (MULFE Figure 5): a row a size, from several runs."""

from __future__ import annotations

from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Comparison
from evaluation.runs.results import Run

METRICS = ("em", "em_1", "em_2", "em_3", "em_spec")


class BatchSizeRow(NamedTuple):
    """A method at one size: its name, the number of documents edited together, and the metrics that the run has."""

    method: str
    size: int
    values: dict[str, Interval]


def batch_sizes(run: Run, table: Comparison) -> tuple[BatchSizeRow, ...]:
    """Rows of every method that was run with several sizes, 1 for ``single``, ascending; empty where none was."""
    regimes = {e.label: e.manifest.regime for e in run.editors}
    found: dict[str, dict[int, BatchSizeRow]] = {}
    for row in table.rows:
        size = size_of(regimes[row.label])
        if size is None or row.baseline:
            continue
        name = f"{row.editor} {row.params}" if _several_settings(table, row.editor) else row.editor
        values = {m: row.summaries[m].interval for m in METRICS if m in row.summaries}
        found.setdefault(name, {})[size] = BatchSizeRow(row.editor, size, values)
    return tuple(rows[size] for rows in found.values() if len(rows) > 1 for size in sorted(rows))


def _several_settings(table: Comparison, editor: str) -> bool:
    return len({str(row.params) for row in table.rows if row.editor == editor}) > 1


def size_of(regime: str) -> int | None:
    """The number of edits made together; None in a sequence.

    Example:
        >>> size_of("single"), size_of("batch:20"), size_of("sequential")
        (1, 20, None)
    """
    name, _, size = regime.partition(":")
    return 1 if name == "single" else int(size) if name == "batch" else None
