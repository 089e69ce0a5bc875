"""The report's further figures as CSV and Markdown: ratings, paired comparisons, correlations."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from curation.stats.intervals import Interval
from evaluation.analysis.correlations import Correlations
from evaluation.analysis.pairwise_tests import ComparisonFamily
from evaluation.analysis.text_ratings import ASPECTS, SHORT, RatingSource
from evaluation.report.formatting import mean_with_interval, name_cell, visible
from evaluation.report.sections import ReportSection, TextSection
from schemas.text.escaping import escape_line

_RATED = (
    *("part", "model", "source", "label", "aspect", "mean_by_case", "half_width_95_by_case", "cases"),
    *("mean_by_script", "half_width_95_by_script", "scripts", "unscored", "lowest_if_scored", "highest_if_scored"),
    *("low_95_by_case", "high_95_by_case", "interval_by_case", "estimator"),
)
_INTERVALS = (
    *("part", "group", "editor", "label", "metric", "mean", "low_95", "high_95", "interval", "cases"),
    *("gain", "gain_low_95", "gain_high_95", "gain_interval", "gain_cases"),
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


def ratings_cell(interval: Interval) -> str:
    """A mean rating with its interval, in points.

    Example:
        >>> ratings_cell(Interval(4.25, 0.5, 9, (3.5, 4.75), "beta, by case")), ratings_cell(Interval(7.0, 0.0, 9))
        ('4.25 [3.50, 4.75]', '7.00 [all agree]')
    """
    return mean_with_interval(interval._replace(unit="points"))


def _write(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([name_cell(value) for value in row] for row in rows)
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
                            *(c.by_case.low, c.by_case.high, c.by_case.kind, "integer"),
                        )
                    )
    return _write(_RATED, rows)


def intervals_csv(parts: Sequence[ReportSection]) -> str:
    """Low and high end of every figure and gain, and how they were had; fractions (bits for entropy)."""
    rows = []
    for n, part in enumerate(parts, 1):
        for table in part.tables:
            for row in table.rows:
                for metric in part.metrics:
                    s, gain = row.summaries[metric.name].interval, row.gain[metric.name]
                    rows.append(
                        (
                            *(n, table.group, row.editor, row.label, metric.name, s.mean, s.low, s.high, s.kind, s.n),
                            *(gain.mean, gain.low, gain.high, gain.kind, gain.n),
                        )
                    )
    return _write(_INTERVALS, rows)


def comparisons_csv(parts: Sequence[ReportSection], others: Sequence[TextSection]) -> str:
    """Every paired comparison; differences of metrics are fractions, of ratings points."""
    numbered = [(n, f) for n, p in enumerate(parts, 1) for f in (*p.contests, *(p.text.contests if p.text else ()))]
    numbered += [(0, f) for t in others for f in t.contests]
    rows = [
        (
            *(n or "", f.metric, f.kind, c.first, c.second, c.difference, c.low, c.high, c.p, c.p_holm),
            *(c.wins, c.ties, c.losses, c.cases, c.only_one, c.detectable, c.verdict, len(f.contests), f.draws),
            *(c.kind, c.test, "no" if c.never else "yes"),
        )
        for n, f in numbered
        for c in f.contests
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


def more_markdown(
    text: TextSection | None, contests: Sequence[ComparisonFamily], correlations: Sequence[Correlations]
) -> str:
    """Ratings, decided comparisons and correlations as Markdown tables."""
    parts: list[str] = []
    if text is not None:
        for source in text.sources:
            parts += _rated_rows(source, text.model)
        contests = (*contests, *text.contests)
    decided = [(f, c) for f in contests for c in f.contests if c.verdict in ("first", "second")]
    if contests:
        total = sum(len(f.contests) for f in contests)
        parts += ["## Paired comparisons", "", f"{len(decided)} of {total} are decided (Holm, p < 0.05)."]
        parts += ["The others are in comparisons.csv.", ""]
    if decided:
        parts += [
            "| metric | better | worse | difference | p (Holm) | cases |",
            "| --- | --- | --- | ---: | ---: | ---: |",
        ]
        for f, c in decided:
            better, worse = (c.first, c.second) if c.verdict == "first" else (c.second, c.first)
            far = abs(c.difference or 0.0)
            gap = f"×{far:.2f}" if f.ratio else f"{100 * far:.1f} pp" if f.share else f"{far:.2f}"
            parts.append(
                f"| {_cell(f.metric)} | {_cell(better)} | {_cell(worse)} | {gap} | {c.p_holm:.3g} | {c.cases} |"
            )
        parts.append("")
    for view in correlations:
        decided_pairs = [p for p in view.pairs if p.decided]
        if decided_pairs:
            parts += [f"## Correlations, {view.view} (corrected p < 0.05 and absolute rho above 0.1)", ""]
            parts += ["| pair | rho | p (Holm) |", "| --- | ---: | ---: |"]
            for p in sorted(decided_pairs, key=lambda p: -abs(p.correlation.value or 0.0)):
                parts.append(f"| {p.first}, {p.second} | {p.correlation.value:.2f} | {p.p_holm:.3g} |")
            parts.append("")
    return "\n".join(parts)


def _rated_rows(source: RatingSource, model: str) -> list[str]:
    aspects = [a for a in ASPECTS if any(a in row for row in source.cells.values())]
    out = [f"## Text level, {_cell(model)}, rated by {_cell(source.title)}", ""]
    out += ["By case: mean of case means with its interval. By script: mean over scripts ± 1.96·sd/√scripts."]
    out += ["Integer ratings: of several samples of a judge the lower median.", ""]
    out.append("| method | " + " | ".join(f"{SHORT[a]} ↑ by case | by script | unscored" for a in aspects) + " |")
    out.append("| --- |" + " ---: |" * (3 * len(aspects)))
    for label, row in source.cells.items():
        cells = []
        for a in aspects:
            c = row.get(a)
            cells += (
                ["–", "–", "–"] if c is None else [ratings_cell(c.by_case), ratings_cell(c.by_script), str(c.unscored)]
            )
        out.append(f"| {_cell(label)} | " + " | ".join(cells) + " |")
    return [*out, ""]


def _cell(text: str) -> str:
    return escape_line(visible(text)).replace("|", "\\|").replace("<", "&lt;")
