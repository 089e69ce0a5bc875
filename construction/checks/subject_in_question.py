"""Does the question name its subject?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage, span
from construction.mentions import find_object
from schemas.verdicts import Verdict


class SubjectInQuestion(RuleCheck):
    """Drop a question that names neither the subject nor an alias: an edit of the fact could not reach its script.

    Where only a word without the name's capital stands ("the square" for Square), the question is ``unsure``. A word
    made from the name ("Italian") does not name the subject.
    """

    name: ClassVar[str] = "subject_in_question"
    version: ClassVar[int] = 5
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "does the question name the subject?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question."""
        question, subject = inputs.question, inputs.fact.subject
        assert question is not None
        named = [one for one in find_object(question.text, subject) if one.fits]
        if not named:
            return self.verdict(question, "drop", f"the question does not name the subject ('{subject.text}')")
        one = min(named, key=lambda one: bool(one.doubt))
        place = [span(one.mention, "subject")]
        if one.doubt:
            return self.verdict(question, "unsure", f"the subject? {one.doubt}", spans=place)
        return self.verdict(question, "keep", spans=place)
