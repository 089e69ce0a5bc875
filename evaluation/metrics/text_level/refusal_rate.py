"""Refusals among written scripts."""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import declines

RefusalRate = row(
    WrittenMetric,
    name="refusal_rate",
    title="Refused",
    about="Share of scripts that the model declines to write (English wordings, no steps)",
    better="lower",
    measure=lambda case, written: float(declines(written.text)),
)
