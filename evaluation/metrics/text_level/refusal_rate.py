"""Refusals among written scripts."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import declines
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class RefusalRate(WrittenMetric):
    """Does the model decline to write the script?"""

    name: ClassVar[str] = "refusal_rate"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Refused"
    about: ClassVar[str] = "Share of scripts that the model declines to write (English wordings, no steps)"
    better: ClassVar[Literal["higher", "lower"]] = "lower"

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        """1 for a refusal."""
        return float(declines(written.text))
