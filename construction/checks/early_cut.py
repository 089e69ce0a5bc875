"""Was the script cut in its first step?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage
from schemas.verdicts import Verdict


class EarlyCut(RuleCheck):
    """Measure the step of the cut; one in step 1 is for people to judge (6.75 % in the paper, Appendix B.2.1).

    Too little leads up to the object there, but many such prompts are good, so they are ``unsure``, never dropped.
    """

    name: ClassVar[str] = "early_cut"
    version: ClassVar[int] = 2
    on: ClassVar[Stage] = "prompt"
    about: ClassVar[str] = "the step of the cut; one in step 1 is for people to judge"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the prompt."""
        prompt = inputs.prompt
        assert prompt is not None
        if prompt.step is None:
            return self.verdict(prompt, "unscored", "the source does not say which step was cut")
        if prompt.step == 1:
            reason = "cut in step 1: the object comes very early"
            return self.verdict(prompt, "unsure", reason, value=1.0, unit="step")
        return self.verdict(prompt, "keep", value=float(prompt.step), unit="step")
