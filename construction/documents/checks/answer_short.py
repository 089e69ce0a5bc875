"""Is the answer a short phrase?"""

from __future__ import annotations

from typing import ClassVar

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from construction.documents.defaults import MOST_WORDS
from schemas.documents.document import plain_words
from schemas.verdicts import Verdict


class AnswerShort(ProbeCheck):
    """Drop probes with answers too long to be given word for word, or without a letter or digit; measure the words."""

    name: ClassVar[str] = "answer_short"
    version: ClassVar[int] = 1
    about: ClassVar[str] = f"has the answer a word, and at most {MOST_WORDS}?"

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        probe = inputs.probe
        count = len(plain_words(probe.answer).split())
        reason = ""
        if not count:
            reason = f"the answer '{probe.answer}' has no word"
        elif count > MOST_WORDS:
            reason = f"an answer of {count} words; at most {MOST_WORDS} can be asked for word for word"
        return self.verdict(probe, "drop" if reason else "keep", reason, value=float(count), unit="words")
