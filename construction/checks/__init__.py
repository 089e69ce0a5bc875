"""Checks of construction: one file each, versioned; they describe, the split's rule decides."""

from __future__ import annotations

from functools import lru_cache

from construction.checks.base import CheckInputs, MentionCheck, RuleCheck, Stage
from construction.mentions.rules import RULES, Rules
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


def judge(stage: Stage, inputs: CheckInputs, *, rules: Rules = RULES) -> list[Verdict]:
    """The verdicts of every registered check of a stage that applies, in order of registration.

    Args:
        stage: Which checks.
        inputs: What they look at.
        rules: Version of the rules of mentions, for the checks that follow from them.
    """
    checks = _checks(tuple(CHECKS.names()), stage, rules)
    return [check.judge_one(inputs) for check in checks if check.applies(inputs)]


@lru_cache(maxsize=32)
def _checks(names: tuple[str, ...], stage: Stage, rules: Rules) -> tuple[RuleCheck, ...]:
    """The checks of a stage under a version of the rules; a check keeps nothing between items."""
    classes: list[type[RuleCheck]] = [CHECKS.get(name) for name in names]
    return tuple(
        cls(cls.Params(rules=rules)) if issubclass(cls, MentionCheck) else cls() for cls in classes if cls.on == stage
    )
