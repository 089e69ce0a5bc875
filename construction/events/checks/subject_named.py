"""Is the event's subject named where it may be, and nowhere else?"""

from __future__ import annotations

from typing import ClassVar

from construction.events.checks.base import EventCheck, EventInputs
from schemas.text.mentions import find
from schemas.verdicts import Span, Verdict


class SubjectNamed(EventCheck):
    """Drop out-of-scope questions that name somebody of the event; doubt questions about its subject that do not."""

    name: ClassVar[str] = "subject_named"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "names an out-of-scope question the event's subject, or a question about the subject not?"
    not_applicable: ClassVar[str] = "nobody says who the event is about"

    def applies(self, inputs: EventInputs) -> bool:
        """Only to questions about events whose entities are known."""
        return bool(inputs.event.roles)

    def judge_one(self, inputs: EventInputs) -> Verdict:
        """The verdict on the question."""
        question = inputs.question
        assert question is not None
        entities = [role.entity for role in inputs.event.roles]
        named = [mention for entity in entities for mention in find(question.text, entity)]
        if question.scope == "out" and named:
            first = min(named, key=lambda mention: mention.start)
            span = Span(start=first.start, end=first.end, text=first.text, what="event's subject")
            reason = f"the question is out of scope and names '{first.text}', which the event is about"
            return self.verdict(question, "drop", reason, spans=[span])
        if question.scope == "in" and question.about_event_subject and not named:
            return self.verdict(
                question, "unsure", "the question is said to be about the event's subject and names none"
            )
        return self.verdict(question, "keep")
