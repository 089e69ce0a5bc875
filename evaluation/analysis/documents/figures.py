"""Everything that a run on documents shows beside its metrics."""

from __future__ import annotations

from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Comparison, Scores
from evaluation.analysis.documents.batch_sizes import BatchSizeRow, batch_sizes, size_curves
from evaluation.analysis.documents.by_tag import TagRow, asked_probes, by_tag, constant_by_group
from evaluation.analysis.documents.frontier import FrontierPoint, frontier
from evaluation.analysis.documents.published_layout import COLUMNS, PublishedRow, published_rows
from evaluation.analysis.forgetting_series import ForgettingSeries
from evaluation.runs.results import Run


class DocumentAnalysis(NamedTuple):
    """The paper's tables, EM by tag, the constant answer over all probes, the frontier, batches by size."""

    published: tuple[PublishedRow, ...]
    tags: tuple[TagRow, ...]
    constant: Interval
    frontier: tuple[FrontierPoint, ...]
    sizes: tuple[BatchSizeRow, ...]
    follows: bool
    """Whether probes ask for what follows from an edited fact (hops, aliases, what must stay), not for a document."""

    @property
    def columns(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Groups of the paper's columns that any method has a value in, with the names of the metrics."""
        some = {name for row in self.published for name, value in row.values.items() if value is not None}
        groups = [(title, tuple(n for n in names if n in some)) for title, names in COLUMNS]
        return tuple((title, names) for title, names in groups if names)

    @property
    def size_curves(self) -> list[ForgettingSeries]:
        """Batches by size as curves."""
        return size_curves(self.sizes)

    @property
    def statements(self) -> bool:
        """Whether documents were made facts for any method."""
        return any(row.statements for row in self.published)

    @property
    def settings(self) -> bool:
        """Whether a method stands in several rows."""
        return any(row.settings for row in self.published)


def document_analysis(run: Run, scores: Scores, table: Comparison) -> DocumentAnalysis:
    """The figures of a run; ``table`` is that of all its cases."""
    asked = asked_probes(run)
    return DocumentAnalysis(
        published_rows(run, table),
        by_tag(run, scores),
        constant_by_group(asked),
        frontier(table),
        batch_sizes(run, table),
        any(probe.group for _, probe in asked),
    )
