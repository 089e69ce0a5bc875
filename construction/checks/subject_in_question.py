"""Does the question name its subject?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import Check, Material, Stage, span
from schemas.text.mentions import first
from schemas.verdicts import Verdict


class SubjectInQuestion(Check):
    """Drop a question that names neither the subject nor an alias: an edit of the fact could not reach its script."""

    name: ClassVar[str] = "subject_in_question"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "question"

    def judge(self, material: Material) -> Verdict:
        """The verdict on the question."""
        question, subject = material.question, material.fact.subject
        assert question is not None
        mention = first(question.text, subject)
        if mention is None:
            return self.verdict(question, "drop", f"the question does not name the subject ('{subject.text}')")
        return self.verdict(question, "keep", spans=[span(mention, "subject")])
