"""The report's tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.analysis.comparison import Comparison
from evaluation.analysis.correlations import Correlations
from evaluation.analysis.pairwise_tests import ComparisonFamily
from evaluation.analysis.tables import DELTA, Cell, FigureTable
from evaluation.analysis.text_ratings import rating_tables
from evaluation.metrics.base import Metric
from evaluation.report.formatting import (
    column_size,
    column_sizes,
    count_range,
    group_title,
    holds_many_edits,
    memory,
    metric_head,
    one_cell,
    seconds,
    visible,
)
from evaluation.report.further_tables import chat_table, comparison_section, decided_table
from evaluation.report.sections import ReportSection, TextSection
from schemas.text.counting import counted
from schemas.text.escaping import markdown_cell


def markdown_table(table: FigureTable) -> str:
    """A table: one figure a cell with its interval; a bar or a tag in a name breaks nothing."""
    rows = [[one_cell(cell, head) for cell, head in zip(row, table.head, strict=True)] for row in table.rows]
    sizes = column_sizes(table)
    heads = [f"{head} ({size})" if size else head for head, size in zip(table.head, sizes, strict=True)]
    lines = [f"| {' | '.join(map(_safe, row))} |" for row in (heads, *rows)]
    return "\n".join([lines[0], "| --- |" + " ---: |" * (len(table.head) - 1), *lines[1:]])


def _safe(text: str) -> str:
    return markdown_cell(visible(text))


def results_markdown(parts: Sequence[ReportSection], others: Sequence[TextSection]) -> str:
    """All main tables with their differences to no edit, then what the paired tests decide, ratings, correlations."""
    out = []
    for part in parts:
        out.append(_heading(part))
        for table in part.tables:
            out += _titled(results_table(table, part.metrics), gains_table(table, part.metrics))
            out += _titled(chat_table(table, part.metrics, part.scores, part.run))
        texts = [] if part.text is None else [part.text]
        out += _further((*part.families, *(f for t in texts for f in t.families)), texts)
        out += _titled(*map(correlation_table, part.correlations))
    for text in others:
        out += _further(text.families, [text])
    return "\n\n".join(out) + "\n"


def _further(families: Sequence[ComparisonFamily], texts: Sequence[TextSection]) -> list[str]:
    compared = comparison_section(families, None)
    caption = [f"## {compared.title}", compared.caption] if families else []
    rated = [(text.model, table) for text in texts for source in text.sources for table in rating_tables(source)]
    tables = [t._replace(title=f"{model}: {t.title}") for model, t in rated]
    return [*caption, *_titled(decided_table(families), *tables)]


def _titled(*tables: FigureTable) -> list[str]:
    """Tables with rows under their titles."""
    parts = [(f"## {_safe(t.title)}", markdown_table(t), _safe(t.caption)) for t in tables if t.rows]
    return [text for part in parts for text in part if text]


def results_table(table: Comparison, metrics: Sequence[Metric]) -> FigureTable:
    """Every method's figures and costs; the head of a metric says how many cases its figures are over."""
    many = holds_many_edits(table)
    titles = [f"{metric_head(m)} ({column_size(table, m) or 'no value'})" for m in metrics]
    rows: list[tuple[Cell, ...]] = [
        (
            row.label,
            *([count_range(row.edits)] if many else []),
            *(row.summaries[m.name].interval for m in metrics),
            *(seconds(row.seconds_edit), seconds(row.seconds_score), memory(row.peak_bytes), row.failed),
        )
        for row in table.rows
    ]
    head = ("Method", *(["Active edits"] if many else []), *titles, "s/edit", "s/scoring", "Peak", "Failed")
    return FigureTable(group_title(table), head, tuple(rows))


def gains_table(table: Comparison, metrics: Sequence[Metric]) -> FigureTable:
    """The differences to no edit."""
    rows: list[tuple[Cell, ...]] = [
        (row.label, *(row.gain[m.name] for m in metrics)) for row in table.rows if not row.baseline
    ]
    head = ("Method", *(f"{DELTA} {m.title}" for m in metrics))
    return FigureTable("Difference to no edit, paired by case", head, tuple(rows))


def correlation_table(view: Correlations) -> FigureTable:
    """The decided pairs of a view, the strongest first."""
    pairs = sorted((p for p in view.pairs if p.decided), key=lambda p: -abs(p.correlation.value or 0.0))
    rows = tuple((f"{p.first}, {p.second}", p.correlation, p.p_holm) for p in pairs)
    title = f"Correlations, {view.view} (corrected p < 0.05 and absolute rho above 0.1)"
    return FigureTable(title, ("Pair", "rho", "p, Holm"), rows)


def _heading(part: ReportSection) -> str:
    about = part.run.about
    over = ", ".join(m.title for m in part.metrics if m.pooled)
    pooled = f" {over}: the mean is over all questions, its interval by case." if over else ""
    return (
        f"# {about['model']} ({about['model_revision']}, {about['dtype']}) on {about['split']} {about['split_version']}"
        f"\n\n{len(part.run.cases):,} of {counted(about['split_cases'], 'case')}, "
        f"split digest {about['split_digest'][:12]}, normalisation {part.normalisation}. "
        "Percent, mean of case means with its 95 % interval [low, high] by case (and neighbour fact, where neighbours "
        f"recur); ±: 1.96·sd/√cases, as published.{pooled}"
    )
