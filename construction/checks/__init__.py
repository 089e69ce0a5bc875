"""Checks of construction: one file each, versioned; they describe, the split's rule decides."""

from __future__ import annotations

from construction.checks.base import CheckInputs, RuleCheck, Stage
from schemas.core.registry import Registry
from schemas.verdicts import Verdict

CHECKS = Registry(
    "check",
    {
        "fact_dates": "construction.checks.fact_dates:FactDates",
        "reply_usable": "construction.checks.reply_usable:ReplyUsable",
        "question_form": "construction.checks.question_form:QuestionForm",
        "subject_in_question": "construction.checks.subject_in_question:SubjectInQuestion",
        "leak_in_question": "construction.checks.leak_in_question:LeakInQuestion",
        "similar_question": "construction.checks.similar_question:SimilarQuestion",
        "script_format": "construction.checks.script_format:ScriptFormatCheck",
        "no_mention": "construction.checks.no_mention:NoMention",
        "leak_in_prompt": "construction.checks.leak_in_prompt:LeakInPrompt",
        "early_cut": "construction.checks.early_cut:EarlyCut",
        "subject_in_neighbour": "construction.checks.subject_in_neighbour:SubjectInNeighbour",
    },
)

__all__ = ["CHECKS", "CheckInputs", "RuleCheck", "Stage", "judge"]


def judge(stage: Stage, inputs: CheckInputs) -> list[Verdict]:
    """The verdicts of every registered check of a stage that applies, in order of registration."""
    classes: list[type[RuleCheck]] = [CHECKS.get(name) for name in CHECKS.names()]
    checks = [cls() for cls in classes if cls.on == stage]
    return [check.judge_one(inputs) for check in checks if check.applies(inputs)]
