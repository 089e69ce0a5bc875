"""Does the query hold its answer?"""

from __future__ import annotations

from typing import ClassVar

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from schemas.documents.document import contains_words
from schemas.verdicts import Verdict


class AnswerInQuery(ProbeCheck):
    """Drop probes that give their answer, or an accepted one, away. An answer within a longer word is no answer."""

    name: ClassVar[str] = "answer_in_query"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does the query hold its answer, as whole words?"

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        probe = inputs.probe
        for answer in probe.answers:
            if contains_words(probe.query, answer):
                return self.verdict(probe, "drop", f"the query holds the answer '{answer}'")
        return self.verdict(probe, "keep")
