"""Does the question name one of the objects?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, LeakCheck, Stage
from schemas.verdicts import Verdict


class LeakInQuestion(LeakCheck):
    """Drop a question that names the old or the new object, or an alias of one (Figure 6: "should not leak").

    An object that is only part of the subject's own name ("Porsche" in "Porsche Panamera") cannot be avoided by any
    question; such questions are ``unsure``, and so are those where only a capital is missing ("turkey" for Turkey).
    """

    name: ClassVar[str] = "leak_in_question"
    version: ClassVar[int] = 7
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "does the question name either object or an alias?"
    text_name: ClassVar[str] = "question"
    order: ClassVar[tuple[str, str]] = ("old object", "new object")

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question."""
        assert inputs.question is not None
        return self.leak_verdict(inputs.question, inputs.question.text, inputs.fact)
