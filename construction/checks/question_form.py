"""Is the question one that a script can answer?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage
from construction.mentions import find_object
from schemas.text.control_tokens import control_token
from schemas.verdicts import Span, Verdict

MOST_WORDS = 40
_HOW = re.compile(r"how\s+(to|can|could|do|does|did|should|would|will|might|must|may)\b", re.IGNORECASE)
_IMPACT = re.compile(r"\b(impact|affect|influenc|effect(?!ive))\w*", re.IGNORECASE)
_AGAIN = re.compile(r"\b(\w+(?:\s+\w+){0,4})(?:\s+\1\b){2,}", re.IGNORECASE)


class QuestionForm(RuleCheck):
    """Drop what is not one "How ..." question for a guide, or asks about an impact (Figure 6)."""

    name: ClassVar[str] = "question_form"
    version: ClassVar[int] = 4
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "is it one 'How ...' question that does not ask about an impact?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question."""
        question = inputs.question
        assert question is not None
        text = question.text
        if not _HOW.match(text):
            return self.verdict(question, "drop", "the question does not begin like 'How to' or 'How does a'")
        if not text.endswith("?"):
            return self.verdict(question, "drop", "the question does not end with a question mark")
        subjects = find_object(text, inputs.fact.subject)  # "Deep Impact" is a film
        named = [one.mention for one in subjects if not one.doubt]
        matches = [m for m in _IMPACT.finditer(text) if not any(n.start <= m.start() < n.end for n in named)]
        if matches:
            match = matches[0]
            span = Span(start=match.start(), end=match.end(), text=match.group(), what="impact")
            return self.verdict(
                question, "drop", f"the question asks about an influence ('{match.group()}')", spans=[span]
            )
        if text.rstrip("?").count("?"):
            return self.verdict(question, "drop", "more than one question")
        if len(text.split()) > MOST_WORDS:
            return self.verdict(question, "drop", f"the question has more than {MOST_WORDS} words")
        if token := control_token(text):
            return self.verdict(question, "drop", f"the question holds the control token {token}")
        if _AGAIN.search(text):
            return self.verdict(question, "drop", "the question repeats the same words over and over")
        return self.verdict(question, "keep")
