"""Did the model answer at all?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage
from schemas.verdicts import Verdict


class ReplyUsable(RuleCheck):
    """Say on a fact or a question that nothing came of it because the model refused or its reply could not be read.

    The label is ``unscored``, never ``drop``: nothing is wrong with the item itself.
    """

    name: ClassVar[str] = "reply_usable"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "reply"
    about: ClassVar[str] = "did the model answer, in a form that can be read?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question where a script was asked for, else on the fact."""
        item = inputs.question or inputs.fact
        if inputs.failure:
            return self.verdict(item, "unscored", inputs.failure)
        return self.verdict(item, "keep")
