"""Degenerate scripts: texts that repeat themselves."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import has_repetition
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class RepetitionRate(WrittenMetric):
    """Does the script repeat a word or phrase in a row, half of its steps, or half of its trigrams?"""

    name: ClassVar[str] = "repetition_rate"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Repetition"
    about: ClassVar[str] = (
        "Share of scripts with repetition: a word four times in a row, a phrase three times, or half of the steps or "
        "trigrams repeated"
    )
    better: ClassVar[Literal["higher", "lower"]] = "lower"

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        """1 for a text with repetition."""
        return float(has_repetition(written.text))
