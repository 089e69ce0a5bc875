"""Was the script cut in its first step?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import Check, Material, Stage
from schemas.verdicts import Verdict


class EarlyCut(Check):
    """A cut in step 1 is for people to judge: too little leads up to the object (6.75 % in the paper)."""

    name: ClassVar[str] = "early_cut"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "prompt"

    def judge(self, material: Material) -> Verdict:
        """The verdict on the prompt."""
        prompt = material.prompt
        assert prompt is not None
        if prompt.step == 1:
            return self.verdict(prompt, "unsure", "cut in step 1: the object comes very early")
        return self.verdict(prompt, "keep")
