"""Checks of construction: one file each, versioned; they describe, the split's rule decides."""

from __future__ import annotations

from functools import lru_cache

from construction.checks.base import CheckInputs, RuleCheck, Stage
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
    """The verdicts of every registered check of a stage that applies, in order of registration.

    Args:
        stage: Which checks.
        inputs: What they look at.
    """
    checks = _checks(tuple(CHECKS.names()), stage)
    return [check.judge_one(inputs) for check in checks if check.applies(inputs)]


@lru_cache(maxsize=32)
def _checks(names: tuple[str, ...], stage: Stage) -> tuple[RuleCheck, ...]:
    """The checks of a stage; a check keeps nothing between items."""
    classes: list[type[RuleCheck]] = [CHECKS.get(name) for name in names]
    return tuple(cls() for cls in classes if cls.on == stage)
