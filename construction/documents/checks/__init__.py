"""Checks of probes about documents: one file each, versioned; they describe, the split's rule decides."""

from __future__ import annotations

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from schemas.core.registry import Registry
from schemas.verdicts import Verdict

PROBE_CHECKS = Registry(
    "probe_check",
    shipped=(
        "level_literal",
        "one_blank",
        "answer_in_query",
        "answer_short",
        "answer_supported",
        "probe_stands_alone",
        "probe_repeats",
        "tag_known",
    ),
)

__all__ = ["PROBE_CHECKS", "ProbeCheck", "ProbeInputs", "judge_probe"]


def judge_probe(inputs: ProbeInputs) -> list[Verdict]:
    """The verdicts of every registered check that applies, in order of registration."""
    classes: list[type[ProbeCheck]] = [PROBE_CHECKS.get(name) for name in PROBE_CHECKS.names()]
    checks = [cls() for cls in classes]
    return [check.judge_one(inputs) for check in checks if check.applies(inputs)]
