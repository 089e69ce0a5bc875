"""Does the cut prompt still name one of the objects?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage, leaks, span
from schemas.verdicts import Span, Verdict

_LABEL = re.compile(r"^Step \d+:", re.MULTILINE)


def unlabelled(text: str) -> str:
    r"""The text with its step labels blanked out, places unchanged: an object "1" is not mentioned by "Step 1:".

    Example:
        >>> unlabelled("How?\nStep 1: Go")
        'How?\n        Go'
    """
    return _LABEL.sub(lambda m: " " * len(m.group()), text)


class LeakInPrompt(RuleCheck):
    """Drop a prompt that names the new object, or the old one before the place where it was cut.

    As in the question, an object inside the subject's own name is ``unsure``.
    """

    name: ClassVar[str] = "leak_in_prompt"
    version: ClassVar[int] = 2
    on: ClassVar[Stage] = "prompt"
    about: ClassVar[str] = "does the prompt name the new object, or the old one before the cut?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the prompt."""
        prompt, fact = inputs.prompt, inputs.fact
        assert prompt is not None
        free: list[Span] = []
        within: list[Span] = []
        text = unlabelled(prompt.text)
        for what, entity, other in (("new object", fact.new, fact.old), ("old object", fact.old, fact.new)):
            if entity is not None:
                found, part = leaks(text, entity, subject=fact.subject, other=other)
                free += [span(m, what) for m in found]
                within += [span(m, what) for m in part]
        if free:
            return self.verdict(prompt, "drop", f"the prompt names the {free[0].what} ('{free[0].text}')", spans=free)
        if within:
            reason = f"the {within[0].what} ('{within[0].text}') is part of the subject's name"
            return self.verdict(prompt, "unsure", reason, spans=within)
        return self.verdict(prompt, "keep")
