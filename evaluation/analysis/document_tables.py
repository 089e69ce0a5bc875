"""What a run on documents shows beside its metrics: the columns of the paper's tables, and the frontier."""

from __future__ import annotations

from typing import Any

from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.analysis.tables import Cell, FigureTable
from evaluation.metrics.documents.exact_match import ExactMatch
from evaluation.metrics.documents.specificity import SpecificityMatch
from evaluation.runs.results import Run

COLUMNS = {
    "ppl_edit": "Edit, PPL",
    **{f"{kind}_{n}": f"Level {n}, {kind.upper()}" for n in (1, 2, 3) for kind in ("em", "ppl")},
    **{"em": "Overall, EM", "ppl": "Overall, PPL", "em_spec": "Specificity, EM", "ppl_spec": "Specificity, PPL"},
}
"""Our metrics in the order of MULFE's Tables 2, 3 and 7, with the heads of these."""
SIMPLIFIER = "simplify"


def document_tables(run: Run, table: Comparison) -> list[FigureTable]:
    """The paper's columns and the frontier; what the run has no value for is left out."""
    return [one for one in (_published(run, table), _frontier(table)) if one.rows]


def _published(run: Run, table: Comparison) -> FigureTable:
    """Every method in the columns of the paper, with how documents became statements, and its own settings."""
    shown = [name for name in COLUMNS if any(_mean(row, name) is not None for row in table.rows)]
    strategies = {e.label: str(e.manifest.components.get(SIMPLIFIER, "")).partition("@")[0] for e in run.editors}
    rows: list[tuple[Cell, ...]] = []
    for row in table.rows:
        values = [row.summaries[name].interval.alone if name in row.summaries else None for name in shown]
        rows.append((row.label, strategies[row.label], _settings(row, table), *values))
    caption = "Statements: what makes facts of documents. Settings: what tells a row from others of its method."
    head = ("Method", "Statements", "Settings", *(COLUMNS[name] for name in shown))
    return FigureTable("In the columns of MULFE", head, tuple(rows) if shown else (), caption, folded=True)


def _mean(row: MethodRow, name: str) -> float | None:
    return row.summaries[name].mean if name in row.summaries else None


def _settings(row: MethodRow, table: Comparison) -> str:
    others = [other.params for other in table.rows if other.editor == row.editor and other.label != row.label]
    apart = {k: v for k, v in row.params.items() if any(other.get(k) != v for other in others)}
    return ", ".join(f"{name} {_value(value)}" for name, value in apart.items())


def _value(value: Any) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _frontier(table: Comparison) -> FigureTable:
    """The methods that no other beats at both efficacy and specificity (MULFE Figure 3), the most specific first."""
    names = (ExactMatch.name, SpecificityMatch.name)
    known: dict[str, tuple[float, float]] = {}
    for row in table.rows:
        efficacy, specificity = (_mean(row, name) for name in names)
        if efficacy is not None and specificity is not None:
            known[row.label] = (efficacy, specificity)
    rows: list[tuple[Cell, ...]] = []
    for row in sorted(table.rows, key=lambda r: (-(_mean(r, SpecificityMatch.name) or 0.0), r.label)):
        if row.label not in known:
            continue
        mine = known[row.label]
        better = [
            o for o, pair in known.items() if pair != mine and all(a >= b for a, b in zip(pair, mine, strict=True))
        ]  # type: ignore[operator]
        values = [row.summaries[name].interval for name in reversed(names)]
        rows.append((row.label, *values, f"no: {', '.join(better)}" if better else "yes"))
    caption = "On the frontier: no other row is at least as good at both and better at one."
    head = ("Method", "EM, specificity", "EM", "On the frontier")
    return FigureTable("Efficacy against specificity", head, tuple(rows), caption)
