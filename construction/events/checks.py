"""Checks of events and their questions, versioned; they describe, the split's rule decides."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from typing_extensions import override

from construction.checks.base import judge_all, likeness, with_earlier
from curation.checks.store_checks import CheckContext, ItemCheck
from schemas.core.plain_text import plain_text
from schemas.core.records import Record
from schemas.core.registry import Registry
from schemas.events.event import TEMPLATE_TEXT, Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Entity
from schemas.text.mentions import find
from schemas.verdicts import Span, Verdict


@dataclass(frozen=True, kw_only=True)
class EventInputs:
    """What a check of an event may look at.

    Attributes:
        event: The event.
        bare: The event as its template words it; None where that is not known.
        facts: Its factual questions.
    """

    event: Event
    bare: str | None = None
    facts: tuple[FactQuestion, ...] = ()


@dataclass(frozen=True, kw_only=True)
class QuestionInputs:
    """What a check of a tendency question may look at.

    Attributes:
        event: Its event.
        question: The question.
        earlier: Tendency questions of the event that came before it.
    """

    event: Event
    question: TendencyQuestion
    earlier: tuple[TendencyQuestion, ...] = ()


class QuestionCheck(ItemCheck[QuestionInputs]):
    """Base of the checks on tendency questions."""

    on: ClassVar[str] = TendencyQuestion.kind

    @override
    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, QuestionInputs]]:
        earlier_of = dict(with_earlier(around, TendencyQuestion, items, lambda one: one.event))
        events = {event.key: event for event in around.store.by_keys(Event, {q.event for q in earlier_of})}
        for question, earlier in earlier_of.items():
            if (event := events.get(question.event)) is not None:
                yield question, QuestionInputs(event=event, question=question, earlier=earlier)


MOST_SENTENCES = 5
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MONTH = re.compile(r"\b(January|February|March|April|May|June|July|August|September|October|November|December)\b")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]+")
_END = re.compile(r"[.!?]+(?=\s+[A-Z\"'“]|\s*$)")


class InformationKept(ItemCheck[EventInputs]):
    """Drop a paraphrase that loses a name, date or number of the event, adds an answer, or is longer than allowed."""

    name: ClassVar[str] = "information_kept"
    version: ClassVar[int] = 1
    on: ClassVar[str] = Event.kind
    about: ClassVar[str] = "does a paraphrase keep every name, date and number, and add no answer of a question?"
    not_applicable: ClassVar[str] = "no paraphrase of a template"

    @override
    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, EventInputs]]:
        questions_of: dict[str, list[FactQuestion]] = defaultdict(list)
        for question in around.store.of_parents(FactQuestion, {item.key for item in items}):
            questions_of[question.event].append(question)
        for item in items:
            assert isinstance(item, Event)
            bare_texts = (line.detail.get(TEMPLATE_TEXT) for line in around.store.lineage(item.id))
            bare = next((text for text in bare_texts if isinstance(text, str)), None)
            yield item, EventInputs(event=item, bare=bare, facts=tuple(questions_of[item.key]))

    def applies(self, inputs: EventInputs) -> bool:
        """Only to events whose template's words are known."""
        return inputs.bare is not None

    @override
    def judge_one(self, inputs: EventInputs) -> Verdict:
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


_ABOUT_OTHERS = re.compile(
    r"^(all|none|both|neither|any|either)( of)? (the )?(above|these|those|others?|options?|of them)\b|^(both|neither) "
    r"[abc] (and|nor) [abc]\b|^(a|b|c) (and|or) (a|b|c)$"
)


class OptionsDiffer(QuestionCheck):
    """Drop questions with options that say the same or speak of each other; the order of options could not change."""

    name: ClassVar[str] = "options_differ"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "are the options three different answers, none of them about the others?"

    @override
    def judge_one(self, inputs: QuestionInputs) -> Verdict:
        question = inputs.question
        folded = [plain_text(option) for option in question.options]
        for option, text in zip(question.options, folded, strict=True):
            if folded.count(text) > 1:
                return self.verdict(question, "drop", f"two options say the same ('{option}')")
            if _ABOUT_OTHERS.search(text):
                return self.verdict(question, "drop", f"an option speaks of the others ('{option}')")
            if text == plain_text(question.text):
                return self.verdict(question, "drop", f"an option repeats the question ('{option}')")
        return self.verdict(question, "keep")


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


class StandsAlone(QuestionCheck):
    """Drop questions that point at an event which they do not name ("this event", "the merger")."""

    name: ClassVar[str] = "stands_alone"
    version: ClassVar[int] = 2
    about: ClassVar[str] = "does the question stand alone, without 'this event' or 'the merger'?"

    @override
    def judge_one(self, inputs: QuestionInputs) -> Verdict:
        question = inputs.question
        match = _POINTS.search(question.text)
        if match is None:
            return self.verdict(question, "keep")
        span = Span(start=match.start(), end=match.end(), text=match.group(), what="deictic")
        reason = f"'{match.group()}' points at something that the question does not name"
        return self.verdict(question, "drop", reason, spans=[span])


class RepeatsSibling(QuestionCheck):
    """Measure the greatest ROUGE-1 F with an earlier question of the same event; a threshold in the rule decides."""

    name: ClassVar[str] = "repeats_sibling"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "greatest ROUGE-1 F with an earlier tendency question of the same event"

    @override
    def judge_one(self, inputs: QuestionInputs) -> Verdict:
        question = inputs.question
        others = [q for q in inputs.earlier if q.id != question.id]
        return likeness(
            self,
            question,
            others,
            lambda one: one.text,
            alone="the first question of its event",
            among="earlier questions",
        )


class SubjectNamed(QuestionCheck):
    """Drop out-of-scope questions that name somebody of the event; doubt questions about its subject that do not."""

    name: ClassVar[str] = "subject_named"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "names an out-of-scope question the event's subject, or a question about the subject not?"
    not_applicable: ClassVar[str] = "nobody says who the event is about"

    def applies(self, inputs: QuestionInputs) -> bool:
        """Only to questions about events whose entities are known."""
        return bool(inputs.event.roles)

    @override
    def judge_one(self, inputs: QuestionInputs) -> Verdict:
        question = inputs.question
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


EVENT_CHECKS = Registry(
    "event_check",
    shipped=("information_kept", "options_differ", "stands_alone", "repeats_sibling", "subject_named"),
)


judge_event = partial(judge_all, EVENT_CHECKS)
"""The verdicts of every registered check on items of a kind: ``event`` or ``tendency_question``."""
