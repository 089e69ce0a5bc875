"""Does the question name its subject?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage, span
from schemas.text.mentions import first
from schemas.verdicts import Verdict


class SubjectInQuestion(RuleCheck):
    """Drop a question that names neither the subject nor an alias: an edit of the fact could not reach its script."""

    name: ClassVar[str] = "subject_in_question"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "does the question name the subject?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question."""
        question, subject = inputs.question, inputs.fact.subject
        assert question is not None
        mention = first(question.text, subject)
        if mention is None:
            return self.verdict(question, "drop", f"the question does not name the subject ('{subject.text}')")
        return self.verdict(question, "keep", spans=[span(mention, "subject")])
