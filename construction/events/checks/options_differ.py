"""Are the three options of a question three answers?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.events.checks.base import EventCheck, EventInputs
from schemas.core.plain_text import plain_text
from schemas.verdicts import Verdict

_ABOUT_OTHERS = re.compile(
    r"^(all|none|both|neither|any|either)( of)? (the )?(above|these|those|others?|options?|of them)\b|^(both|neither) "
    r"[abc] (and|nor) [abc]\b|^(a|b|c) (and|or) (a|b|c)$"
)


class OptionsDiffer(EventCheck):
    """Drop questions with options that say the same or speak of each other; the order of options could not change."""

    name: ClassVar[str] = "options_differ"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "are the options three different answers, none of them about the others?"

    def judge_one(self, inputs: EventInputs) -> Verdict:
        """The verdict on the question."""
        question = inputs.question
        assert question is not None
        folded = [plain_text(option) for option in question.options]
        for option, text in zip(question.options, folded, strict=True):
            if folded.count(text) > 1:
                return self.verdict(question, "drop", f"two options say the same ('{option}')")
            if _ABOUT_OTHERS.search(text):
                return self.verdict(question, "drop", f"an option speaks of the others ('{option}')")
            if text == plain_text(question.text):
                return self.verdict(question, "drop", f"an option repeats the question ('{option}')")
        return self.verdict(question, "keep")
