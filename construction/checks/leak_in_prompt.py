"""Does the cut prompt still name one of the objects?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.checks.base import CheckInputs, LeakCheck, Stage
from schemas.verdicts import Verdict

_LABEL = re.compile(r"^Step \d+:", re.MULTILINE)


def blank_step_labels(text: str) -> str:
    r"""The text with its step labels blanked out, places unchanged: an object "1" is not mentioned by "Step 1:".

    Example:
        >>> blank_step_labels("How?\nStep 1: Go")
        'How?\n        Go'
    """
    return _LABEL.sub(lambda m: " " * len(m.group()), text)


class LeakInPrompt(LeakCheck):
    """Drop a prompt that names the new object, or the old one before the place where it was cut.

    As in the question, an object inside the subject's own name, or inside a longer name, is ``unsure``.
    """

    name: ClassVar[str] = "leak_in_prompt"
    version: ClassVar[int] = 3
    on: ClassVar[Stage] = "prompt"
    about: ClassVar[str] = "does the prompt name the new object, or the old one before the cut?"
    text_name: ClassVar[str] = "prompt"
    order: ClassVar[tuple[str, str]] = ("new object", "old object")

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the prompt."""
        assert inputs.prompt is not None
        return self.leak_verdict(inputs.prompt, blank_step_labels(inputs.prompt.text), inputs.fact)
