"""Does the cut prompt still name one of the objects?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.checks.article_before_cut import article_before_cut
from construction.checks.base import CheckInputs, LeakCheck, Stage
from schemas.verdicts import Span, Verdict

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

    As in the question, an object inside the subject's own name is ``unsure``. So is an
    article right before the cut that the new object cannot follow.
    """

    name: ClassVar[str] = "leak_in_prompt"
    version: ClassVar[int] = 7
    on: ClassVar[Stage] = "prompt"
    about: ClassVar[str] = "does the prompt name the new object, or the old one before the cut?"
    text_name: ClassVar[str] = "prompt"
    order: ClassVar[tuple[str, str]] = ("new object", "old object")

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the prompt."""
        prompt, fact = inputs.prompt, inputs.fact
        assert prompt is not None
        verdict = self.leak_verdict(prompt, blank_step_labels(prompt.text), fact)
        if verdict.label != "keep" or fact.new is None:
            return verdict
        article = article_before_cut(prompt.text, fact.new.text)
        if article is None:
            return verdict
        start = len(prompt.text.rstrip()) - len(article)
        place = Span(start=start, end=start + len(article), text=article, what="article")
        reason = f"'{article}' before the cut does not fit the new object ('{fact.new.text}') and points to the old one"
        return self.verdict(prompt, "unsure", reason, spans=[place])
