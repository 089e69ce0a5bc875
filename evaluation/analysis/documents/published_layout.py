"""A run's figures in the columns of the paper's tables (MULFE Tables 2, 3 and 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.runs.results import EditorRun, Run

COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Edit", ("ppl_edit",)),
    ("Level 1", ("em_1", "ppl_1")),
    ("Level 2", ("em_2", "ppl_2")),
    ("Level 3", ("em_3", "ppl_3")),
    ("Overall", ("em", "ppl")),
    ("Specificity", ("em_spec", "ppl_spec")),
)
"""Groups of columns in the published order, with the names of our metrics."""

SIMPLIFIER = "simplify"


class PublishedRow(NamedTuple):
    """One method: its label, how documents became statements for it, its own settings, and the columns' values.

    ``settings`` names only those that tell it from other rows of the same method (the terms of Table 7).
    """

    label: str
    statements: str
    settings: str
    values: Mapping[str, float | None]


def published_rows(run: Run, table: Comparison) -> tuple[PublishedRow, ...]:
    """Every method in the columns of the paper; a metric that the run has not is None."""
    editors = {e.label: e for e in run.editors}
    names = [name for _, names in COLUMNS for name in names]
    rows = []
    for row in table.rows:
        values = {n: row.summaries[n].mean if n in row.summaries else None for n in names}
        rows.append(PublishedRow(row.label, _statements(editors[row.label]), _settings(row, table), values))
    return tuple(rows)


def _statements(editor: EditorRun) -> str:
    """The strategy's name, out of its identity ("ner_qg@1:...")."""
    return str(editor.manifest.components.get(SIMPLIFIER, "")).partition("@")[0]


def _settings(row: MethodRow, table: Comparison) -> str:
    others = [other.params for other in table.rows if other.editor == row.editor and other.label != row.label]
    apart = {k: v for k, v in row.params.items() if any(other.get(k) != v for other in others)}
    return ", ".join(f"{name} {_value(value)}" for name, value in apart.items())


def _value(value: Any) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
