"""Checks of construction: one file each, versioned; they describe, the split's rule decides."""

from __future__ import annotations

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
    classes: list[type[RuleCheck]] = [CHECKS.get(name) for name in CHECKS.names()]
    checks = [_made(cls, rules) for cls in classes if cls.on == stage]
    return [check.judge_one(inputs) for check in checks if check.applies(inputs)]


def _made(cls: type[RuleCheck], rules: Rules) -> RuleCheck:
    return cls(cls.Params(rules=rules)) if issubclass(cls, MentionCheck) else cls()
