"""Does a paraphrase keep what the event says, and add no answer?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.events.checks.base import EventCheck, EventInputs
from schemas.events.event import Event
from schemas.facts import Entity
from schemas.text.mentions import find
from schemas.verdicts import Verdict

MOST_SENTENCES = 5
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MONTH = re.compile(r"\b(January|February|March|April|May|June|July|August|September|October|November|December)\b")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]+")
_END = re.compile(r"[.!?]+(?=\s+[A-Z\"'“]|\s*$)")


class InformationKept(EventCheck):
    """Drop a paraphrase that loses a name, date or number of the event, adds an answer, or is longer than allowed."""

    name: ClassVar[str] = "information_kept"
    version: ClassVar[int] = 1
    on: ClassVar[str] = Event.kind
    about: ClassVar[str] = "does a paraphrase keep every name, date and number, and add no answer of a question?"
    not_applicable: ClassVar[str] = "no paraphrase of a template"

    def applies(self, inputs: EventInputs) -> bool:
        """Only to events whose template's words are known."""
        return inputs.bare is not None

    def judge_one(self, inputs: EventInputs) -> Verdict:
        """The verdict on the event."""
        event, bare = inputs.event, inputs.bare
        assert bare is not None
        reason = _lost(event, bare) or _added(inputs, bare)
        sentences = len(_END.findall(event.text)) or 1
        if not reason and sentences > MOST_SENTENCES:
            reason = f"{sentences} sentences are more than {MOST_SENTENCES}"
        return self.verdict(event, "drop" if reason else "keep", reason)


def _lost(event: Event, bare: str) -> str:
    """What of the template's words is missing; empty where nothing is."""
    entities = [r.entity for r in event.roles if find(bare, r.entity)]
    for entity in entities:
        if not find(event.text, entity):
            return f"the name '{entity.text}' is lost"
    for kind, pattern in (("number", _NUMBER), ("date", _MONTH), ("name", _NAME)):
        for word in pattern.findall(bare):
            covered = any(word in name for e in entities for name in e.names)
            if not covered and not find(event.text, Entity(text=word)):
                return f"the {kind} '{word}' is lost"
    return ""


def _added(inputs: EventInputs, bare: str) -> str:
    """The answer that stands in the paraphrase only; empty where none does."""
    for question in inputs.facts:
        added = not question.unknown and find(inputs.event.text, question.answer) and not find(bare, question.answer)
        if added:
            return f"the answer '{question.answer.text}' is added, which the event does not say"
    return ""
