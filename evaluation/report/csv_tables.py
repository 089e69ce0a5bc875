"""The report's figures as CSV files: results, ratings, paired comparisons, correlations."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from evaluation.analysis.comparison import Comparison
from evaluation.metrics.base import Metric
from evaluation.report.formatting import visible
from evaluation.report.sections import ReportSection, TextSection
from evaluation.runs.frame import Scores
from schemas.text.spreadsheet_cells import safe_cell

_RESULTS = (
    *("group", "editor", "label", "metric", "mean", "half_width_95", "cases", "items", "unscored", "ties", "truncated"),
    *("gain", "gain_half_width_95", "gain_cases", "cases_finished", "cases_failed", "cases_pending"),
    *("seconds_edit", "seconds_score", "peak_bytes", "blow_ups", "interval_level"),
    *("low_95", "high_95", "interval", "gain_low_95", "gain_high_95", "gain_interval", "share_of_possible"),
)
_RATED = (
    *("part", "model", "source", "label", "aspect", "mean_by_case", "half_width_95_by_case", "cases"),
    *("mean_by_script", "half_width_95_by_script", "scripts", "unscored", "lowest_if_scored", "highest_if_scored"),
    *("low_95_by_case", "high_95_by_case", "interval_by_case"),
)
_COMPARED = (
    *("part", "metric", "family", "first", "second", "difference", "low_95", "high_95", "p", "p_holm", "wins", "ties"),
    *("losses", "cases", "only_one", "smallest_detectable", "verdict", "comparisons_in_family", "draws"),
    *("interval", "test", "could_decide"),
)
_CORRELATED = (
    *("part", "view", "first", "second", "rho", "low_95", "high_95", "n", "cases", "p", "p_holm", "decided"),
    "note",
)


def _write(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A CSV file, whose names are written out as they are on the page; figures stay."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([safe_cell(visible(v)) if isinstance(v, str) else v for v in row] for row in rows)
    return file.getvalue()


def ratings_csv(parts: Sequence[ReportSection], others: Sequence[TextSection]) -> str:
    """Every method on every aspect by every source, with both intervals and the bounds of what is unscored."""
    rated_sections = [(n, p.text) for n, p in enumerate(parts, 1) if p.text is not None] + [(0, t) for t in others]
    rows = []
    for n, text in rated_sections:
        for source in text.sources:
            for label, row in source.cells.items():
                for aspect, c in row.items():
                    low, high = c.bounds or (None, None)
                    rows.append(
                        (
                            *(n or "", text.model, source.title, label, aspect),
                            *(c.by_case.mean, c.by_case.half, c.by_case.n),
                            *(c.by_script.mean, c.by_script.half, c.scripts, c.unscored, low, high),
                            *(c.by_case.low, c.by_case.high, c.by_case.told),
                        )
                    )
    return _write(_RATED, rows)


def comparisons_csv(parts: Sequence[ReportSection], others: Sequence[TextSection]) -> str:
    """Every paired comparison; differences of metrics are fractions, of ratings points."""
    numbered = [(n, f) for n, p in enumerate(parts, 1) for f in (*p.families, *(p.text.families if p.text else ()))]
    numbered += [(0, f) for t in others for f in t.families]
    rows = [
        (
            *(n or "", f.metric, f.kind, c.first, c.second, c.gap.mean, c.gap.low, c.gap.high, c.p, c.p_holm),
            *(c.wins, c.ties, c.losses, c.gap.n, c.only_one, c.detectable, c.verdict, len(f.pairs), f.draws),
            *(c.gap.kind, c.test, "no" if c.never else "yes"),
        )
        for n, f in numbered
        for c in f.pairs
    ]
    return _write(_COMPARED, rows)


def correlations_csv(parts: Sequence[ReportSection]) -> str:
    """Every pair of metrics in every view."""
    rows = []
    for n, part in enumerate(parts, 1):
        for view in part.correlations:
            for pair in view.pairs:
                e = pair.correlation
                rows.append(
                    (
                        *(n, view.view, pair.first, pair.second, e.value, e.low, e.high, e.n, e.cases, e.p),
                        *(pair.p_holm, "yes" if pair.decided else "no", e.reason or e.note),
                    )
                )
    return _write(_CORRELATED, rows)


def flat(comparisons: Iterable[Comparison], metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """One line for every group, editor and metric, with fractions, not percent."""
    out = []
    for table in comparisons:
        for row in table.rows:
            for metric in metrics:
                s, gain = row.summaries[metric.name], row.gain[metric.name]
                values = (
                    *(table.group, row.editor, row.label, metric.name, s.mean, s.half, s.cases, s.items),
                    *(s.unscored, s.ties, s.truncated, gain.mean, gain.half, gain.n),
                    *(row.finished, row.failed, row.pending + row.unedited),
                    *(row.seconds_edit, row.seconds_score, row.peak_bytes, len(row.blow_ups), s.level),
                    *(s.interval.low, s.interval.high, s.interval.told, gain.low, gain.high, gain.told, s.share),
                )
                out.append(dict(zip(_RESULTS, values, strict=True)))
    return out


def results_csv(parts: Sequence[ReportSection]) -> str:
    """The figures: fractions, one line for every group, editor and metric; of several parts the part in front."""
    lines = [{"part": n, **line} for n, p in enumerate(parts, 1) for line in flat(p.tables, p.metrics)]
    columns = _RESULTS if len(parts) == 1 else ("part", *_RESULTS)
    return _write(columns, ([line[name] for name in columns] for line in lines))


def by_case(scores: Scores) -> list[dict[str, Any]]:
    """Every case's mean under every editor and metric, with its number of scored and unscored prompts."""
    return [
        {
            "label": label,
            "metric": metric,
            "case": key,
            "mean": one.mean,
            "scored": sum(i.value is not None for i in one.items),
            "unscored": sum(i.value is None for i in one.items),
        }
        for label, metrics in scores.by_editor.items()
        for metric, cases in metrics.items()
        for key, one in cases.items()
        if one.items
    ]
