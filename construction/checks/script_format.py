"""Do the steps keep to the format of a script?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage
from schemas.scripts import MAX_STEPS, MAX_WORDS, words
from schemas.text.control_tokens import control_token
from schemas.verdicts import Verdict


def complaint(steps: tuple[str, ...]) -> str | None:
    """What is wrong with the steps of a reply, or None.

    Example:
        >>> complaint(("Walk home",)) is None
        True
        >>> complaint(("Step by step walk all the way back home",))
        'step 1 has 9 words, 7 are allowed'
    """
    if not steps:
        return "the reply holds no step"
    if len(steps) > MAX_STEPS:
        return f"{len(steps)} steps, {MAX_STEPS} are allowed"
    for number, step in enumerate(steps, 1):
        if token := control_token(step):
            return f"step {number} holds the control token {token}"
        if words(step) > MAX_WORDS:
            return f"step {number} has {words(step)} words, {MAX_WORDS} are allowed"
    return None


class ScriptFormatCheck(RuleCheck):
    """Drop steps that break the format: more than nine, or one of eight words or more (Appendix A).

    Such steps cannot be stored as a script, so a ``drop`` stands on the question that they should have answered; a
    ``keep`` stands on the script.
    """

    name: ClassVar[str] = "script_format"
    version: ClassVar[int] = 3
    on: ClassVar[Stage] = "draft"
    about: ClassVar[str] = "do the steps of the reply keep the format of a script?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the script where there is one, else on its question."""
        assert inputs.question is not None
        wrong = complaint(inputs.draft)
        if wrong is not None:
            return self.verdict(inputs.question, "drop", f"no script in the format: {wrong}")
        return self.verdict(inputs.script or inputs.question, "keep")
