"""Does the question give away one of the objects?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage, leaks, span
from schemas.verdicts import Span, Verdict


class LeakInQuestion(RuleCheck):
    """Drop a question that names the old or the new object, or an alias of one (Figure 6: "should not leak").

    An object that is only part of the subject's own name ("Porsche" in "Porsche Panamera") cannot be avoided by any
    question; such questions are ``unsure``.
    """

    name: ClassVar[str] = "leak_in_question"
    version: ClassVar[int] = 2
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "does the question name either object or an alias?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question."""
        question, fact = inputs.question, inputs.fact
        assert question is not None
        free: list[Span] = []
        within: list[Span] = []
        for what, entity, other in (("old object", fact.old, fact.new), ("new object", fact.new, fact.old)):
            if entity is not None:
                found, part = leaks(question.text, entity, subject=fact.subject, other=other)
                free += [span(m, what) for m in found]
                within += [span(m, what) for m in part]
        if free:
            return self.verdict(
                question, "drop", f"the question names the {free[0].what} ('{free[0].text}')", spans=free
            )
        if within:
            reason = f"the {within[0].what} ('{within[0].text}') is part of the subject's name"
            return self.verdict(question, "unsure", reason, spans=within)
        return self.verdict(question, "keep")
