"""Does the cut prompt still name one of the objects?"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from construction.checks.base import CheckInputs, MentionCheck, Stage, leaks
from schemas.verdicts import Verdict

_LABEL = re.compile(r"^Step \d+:", re.MULTILINE)


def unlabelled(text: str) -> str:
    r"""The text with its step labels blanked out, places unchanged: an object "1" is not mentioned by "Step 1:".

    Example:
        >>> unlabelled("How?\nStep 1: Go")
        'How?\n        Go'
    """
    return _LABEL.sub(lambda m: " " * len(m.group()), text)


class LeakInPrompt(MentionCheck):
    """Drop a prompt that names the new object, or the old one before the place where it was cut.

    As in the question, an object inside the subject's own name, or inside a longer name, is ``unsure``.
    """

    name: ClassVar[str] = "leak_in_prompt"
    version: ClassVar[int] = 3
    on: ClassVar[Stage] = "prompt"
    about: ClassVar[str] = "does the prompt name the new object, or the old one before the cut?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the prompt."""
        prompt, fact = inputs.prompt, inputs.fact
        assert prompt is not None
        text = unlabelled(prompt.text)
        around: dict[str, Any] = {"subject": fact.subject, "relation": fact.relation, "rules": self.params.rules}
        found = leaks(text, "new object", fact.new, other=fact.old, **around)
        found += leaks(text, "old object", fact.old, other=fact.new, **around)
        if found.named:
            first = found.named[0]
            reason = f"the prompt names the {first.what} ('{first.text}')"
            return self.verdict(prompt, "drop", reason, spans=found.named)
        if found.doubtful:
            return self.verdict(prompt, "unsure", found.doubtful[0][1], spans=[place for place, _ in found.doubtful])
        return self.verdict(prompt, "keep", "; ".join(found.other))
