"""Format compliance of written scripts (ScEdit Appendix A)."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import broken_rules
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class FormatCompliance(WrittenMetric):
    """Is the script in the format: "Step k:" labels from 1, nine steps at most, fewer than eight words, steps only?"""

    name: ClassVar[str] = "script_format"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Format"
    about: ClassVar[str] = (
        'Format compliance: "Step k:" labels from 1, at most nine steps, each of fewer than eight words on a line of '
        "its own, nothing else, ended by the model itself (Appendix A)"
    )
    better: ClassVar[Literal["higher", "lower"]] = "higher"

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        """1 where no rule is broken."""
        return float(not broken_rules(written.text, ended=written.ended))
