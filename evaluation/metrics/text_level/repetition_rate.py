"""Degenerate scripts: texts that repeat themselves."""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import has_repetition

RepetitionRate = row(
    WrittenMetric,
    name="repetition_rate",
    title="Repetition",
    about=(
        "Share of scripts with repetition: a word four times in a row, a phrase three times, or half of the steps or "
        "trigrams repeated"
    ),
    better="lower",
    measure=lambda case, written: float(has_repetition(written.text)),
)
