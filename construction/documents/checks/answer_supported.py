"""Does the document support the answer?"""

from __future__ import annotations

from typing import ClassVar

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from schemas.documents.document import contains_words, plain_words
from schemas.verdicts import Verdict


class AnswerSupported(ProbeCheck):
    """Keep answers that stand in the document, or whose words all do; of others a person decides.

    Most answers of level 3 stand there, too (659 of 771 in our copy of the published evaluation part). One that does
    not may be a good inference, so it is ``unsure`` and never dropped. The measured value is the share of the answer's
    words that stand in the document.
    """

    name: ClassVar[str] = "answer_supported"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does the answer, or every word of it, stand in the document?"

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        probe, text = inputs.probe, inputs.document.text
        words = plain_words(probe.answer).split()
        share = sum(contains_words(text, word) for word in words) / max(len(words), 1)
        if any(contains_words(text, answer) for answer in probe.answers):
            return self.verdict(probe, "keep", value=1.0, unit="share")
        if share == 1:
            return self.verdict(probe, "keep", "its words stand apart in the document", value=share, unit="share")
        reason = f"'{probe.answer}' does not stand in the document: can it be inferred?"
        return self.verdict(probe, "unsure", reason, value=round(share, 6), unit="share")
