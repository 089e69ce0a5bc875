"""Can a question be understood without its event?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.events.checks.base import EventCheck, EventInputs
from schemas.verdicts import Span, Verdict

_HAPPENING = (
    "event|incident|region|area|announcement|decision|merger|acquisition|deal|agreement|development|situation|change|"
    "news|move|policy|law|bill|ban|reform|measure|initiative|launch|crisis|scandal|breakthrough|discovery|partnership"
)
_POINTS = re.compile(
    rf"\b(?:(?:this|these|those|such(?: an?)?|that) (?:new |recent |sudden |latest )?(?:{_HAPPENING})s?"
    rf"|the (?:event|incident|region|announcement|merger|acquisition|decision|situation|deal)"
    rf"|(?:mentioned|described|reported) (?:above|event|here))\b(?! (?:of|between|with|in) (?-i:[A-Z]))",
    re.IGNORECASE,
)


class StandsAlone(EventCheck):
    """Drop questions that point at an event which they do not name ("this event", "the merger")."""

    name: ClassVar[str] = "stands_alone"
    version: ClassVar[int] = 2
    about: ClassVar[str] = "does the question stand alone, without 'this event' or 'the merger'?"

    def judge_one(self, inputs: EventInputs) -> Verdict:
        """The verdict on the question."""
        question = inputs.question
        assert question is not None
        match = _POINTS.search(question.text)
        if match is None:
            return self.verdict(question, "keep")
        span = Span(start=match.start(), end=match.end(), text=match.group(), what="deictic")
        reason = f"'{match.group()}' points at something that the question does not name"
        return self.verdict(question, "drop", reason, spans=[span])
