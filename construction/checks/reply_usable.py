"""Did the model answer at all?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import Check, Material, Stage
from schemas.verdicts import Verdict


class ReplyUsable(Check):
    """Say on a fact or a question that nothing came of it because the model refused or its reply could not be read.

    The label is ``unscored``, never ``drop``: nothing is wrong with the item itself.
    """

    name: ClassVar[str] = "reply_usable"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "reply"

    def judge(self, material: Material) -> Verdict:
        """The verdict on the question where a script was asked for, else on the fact."""
        item = material.question or material.fact
        if material.failure:
            return self.verdict(item, "unscored", material.failure)
        return self.verdict(item, "keep")
