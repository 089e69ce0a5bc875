"""Degenerate scripts: texts that turn in circles."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import loops
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class ScriptLoops(WrittenMetric):
    """Does the script repeat a word or phrase on end, half of its steps, or half of its trigrams?"""

    name: ClassVar[str] = "script_loops"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Loops"
    about: ClassVar[str] = (
        "Share of scripts that turn in circles: a word four times on end, a phrase three times, half of the steps or "
        "trigrams more than once"
    )
    better: ClassVar[Literal["higher", "lower"]] = "lower"

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        """1 for a loop."""
        return float(loops(written.text))
