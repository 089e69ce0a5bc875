"""Checks of construction: one file each, versioned; they describe, the split's rule decides."""

from __future__ import annotations

from construction.checks.base import CheckInputs, RuleCheck, Stage, judge_all
from schemas.core.registry import Registry
from schemas.verdicts import Verdict

CHECKS = Registry(
    "check",
    shipped=(
        "fact_dates",
        "reply_usable",
        "question_form",
        "subject_in_question",
        "leak_in_question",
        "similar_question",
        "script_format",
        "no_mention",
        "leak_in_prompt",
        "early_cut",
        "subject_in_neighbour",
    ),
)

__all__ = ["CHECKS", "CheckInputs", "RuleCheck", "Stage", "judge"]


def judge(stage: Stage, inputs: CheckInputs) -> list[Verdict]:
    """The verdicts of every registered check of a stage that applies, in order of registration."""
    return judge_all(CHECKS, stage, inputs)
