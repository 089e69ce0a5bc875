"""Format compliance of written scripts (ScEdit Appendix A)."""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import broken_rules

FormatCompliance = row(
    WrittenMetric,
    name="script_format",
    title="Format",
    about=(
        'Format compliance: "Step k:" labels from 1, at most nine steps, each of fewer than eight words on a line of '
        "its own, nothing else, ended by the model itself (Appendix A)"
    ),
    better="higher",
    measure=lambda case, written: float(not broken_rules(written.text, ended=written.ended)),
)
