"""What a model is asked about events, and what its replies mean: paraphrases, events of a topic, tendency questions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ValidationError, field_validator
from typing_extensions import override

from construction.llm.prompt_file import ProfilePrompt, PromptFolder, PromptStep
from construction.llm.prompt_text import ReplyText
from construction.llm.step import Message, StrictReply
from curation.loaders.formats.elken import question_key
from schemas.core.config import explain
from schemas.core.ids import digest, seed, slug
from schemas.events.event import Event, EventRole
from schemas.events.questions import LETTERS, Scope, TendencyQuestion
from schemas.facts import Entity, Source


class EventPrompt(ProfilePrompt):
    """One prompt file of the construction of events."""

    fills: ClassVar[Mapping[str, frozenset[str]]] = {
        "paraphrase": frozenset({"event", "names"}),
        "topic_events": frozenset({"topic", "count"}),
        "tendency_questions": frozenset({"event", "inside", "outside"}),
    }


FILES = PromptFolder(
    EventPrompt,
    package="construction.events",
    folder="prompts",
    tasks=tuple(EventPrompt.fills),
    reader="the construction of events",
)
_WORDS = [
    "Company",
    "opens",
    "plant",
    "in",
    "town",
    "after",
    "vote",
    "of",
    "council",
    "on",
    "new",
    "rule",
    "for",
    "power",
    "and",
    "water",
]


class ParaphraseReply(StrictReply):
    """One report."""

    text: ReplyText


class WrittenEvent(StrictReply):
    """One event of a topic, and what it is about."""

    event: ReplyText
    subject: ReplyText


class TopicReply(StrictReply):
    """Events of a topic."""

    events: list[WrittenEvent]

    @field_validator("events")
    @classmethod
    def _some(cls, events: list[WrittenEvent]) -> list[WrittenEvent]:
        if not events:
            raise ValueError("at least one event is needed")
        return events


class WrittenQuestion(StrictReply):
    """One question with three options; the answer is the letter of one."""

    question: ReplyText
    options: list[ReplyText]
    answer: Literal["A", "B", "C"]
    about_subject: bool

    @field_validator("options")
    @classmethod
    def _three(cls, options: list[str]) -> list[str]:
        if len(options) != len(LETTERS):
            raise ValueError(f"three options are needed, not {len(options) or 'none'}")
        return options


class TendencyReply(StrictReply):
    """Questions in scope and out of scope."""

    in_scope: list[WrittenQuestion]
    out_of_scope: list[WrittenQuestion]

    @field_validator("in_scope")
    @classmethod
    def _some(cls, questions: list[WrittenQuestion]) -> list[WrittenQuestion]:
        if not questions:
            raise ValueError("at least one question is needed")
        return questions


class ParaphraseStep(PromptStep[Event, Event, EventPrompt]):
    """Words an event anew."""

    reply = ParaphraseReply

    @override
    def prompt(self, item: Event) -> list[Message]:
        named = "; ".join(r.entity.text for r in item.roles if r.entity.text in item.text)
        return self.wording.chat({"event": item.text, "names": named or "none"})

    @override
    def usual(self, item: Event) -> BaseModel:
        return ParaphraseReply.model_construct(text=item.text)

    @override
    def parse(self, item: Event, reply: BaseModel) -> list[Event]:
        assert isinstance(reply, ParaphraseReply)
        return [item.model_copy(update={"text": reply.text})]


class TopicAsk(NamedTuple):
    """One call for events of a topic: number ``call`` of the topic's, from 0."""

    topic: str
    events: int
    call: int


class TopicStep(PromptStep[TopicAsk, Event, EventPrompt]):
    """Writes events of a topic.

    Args:
        prompt: The wording.
        source: Where the events come from.
    """

    reply = TopicReply

    def __init__(self, prompt: EventPrompt, source: Source) -> None:
        super().__init__(prompt)
        self._source = source

    @override
    def prompt(self, item: TopicAsk) -> list[Message]:
        return self.wording.chat({"topic": item.topic, "count": str(item.events)})

    @override
    def usual(self, item: TopicAsk) -> BaseModel:
        first = item.call * item.events
        texts = [" ".join(f"{word}{n}" for word in _WORDS) for n in range(first, first + item.events)]
        return TopicReply.model_construct(
            events=[WrittenEvent.model_construct(event=f"{text}.", subject=item.topic) for text in texts]
        )

    @override
    def parse(self, item: TopicAsk, reply: BaseModel) -> list[Event]:
        assert isinstance(reply, TopicReply)
        return [
            Event(
                key=f"events/{slug(item.topic)}/{digest([written.event])[:10]}",
                text=written.event,
                type=item.topic,
                origin="generated",
                roles=(EventRole(role="subject", entity=Entity(text=written.subject)),),
                source=self._source,
            )
            for written in reply.events[: item.events]
        ]


class TendencyAsk(NamedTuple):
    """One call for the questions about an event."""

    event: Event
    inside: int
    outside: int


class WrittenTendencies(NamedTuple):
    """What a reply held: questions, and why the others are none."""

    questions: tuple[TendencyQuestion, ...]
    refused: tuple[str, ...]


class TendencyStep(PromptStep[TendencyAsk, WrittenTendencies, EventPrompt]):
    """Writes tendency questions; the order of options is drawn anew, so that no letter hangs on the scope."""

    reply = TendencyReply

    @override
    def prompt(self, item: TendencyAsk) -> list[Message]:
        return self.wording.chat({"event": item.event.text, "inside": str(item.inside), "outside": str(item.outside)})

    @override
    def usual(self, item: TendencyAsk) -> BaseModel:

        def questions(count: int, scope: str) -> list[WrittenQuestion]:
            options = ["It becomes more likely", "It becomes less likely", "Nothing changes at all"]
            return [
                WrittenQuestion.model_construct(
                    question=f"What is likely to happen next in the field number {n} ({scope})?",
                    options=options,
                    answer="A",
                    about_subject=False,
                )
                for n in range(count)
            ]

        return TendencyReply.model_construct(
            in_scope=questions(item.inside, "in scope"), out_of_scope=questions(item.outside, "out of scope")
        )

    def parse(self, item: TendencyAsk, reply: BaseModel) -> list[WrittenTendencies]:
        """The questions, each text once, at most as many of a scope as asked for."""
        assert isinstance(reply, TendencyReply)
        by_text: dict[str, TendencyQuestion] = {}
        refused: list[str] = []
        parts: tuple[tuple[Scope, list[WrittenQuestion], int], ...] = (
            ("in", reply.in_scope, item.inside),
            ("out", reply.out_of_scope, item.outside),
        )
        for scope, written, most in parts:
            for one in written[:most]:
                earlier = by_text.get(one.question.casefold())
                if earlier is not None:
                    both = "in and out of scope" if earlier.scope != scope else "asked twice"
                    refused.append(f"one question is {both}")
                    if earlier.scope != scope:
                        del by_text[one.question.casefold()]
                    continue
                try:
                    by_text[one.question.casefold()] = tendency_question(item.event, one, scope)
                except ValidationError as error:
                    refused.append(explain(error).partition(" (")[0])
        return [WrittenTendencies(tuple(by_text.values()), tuple(refused))]


def tendency_question(event: Event, written: WrittenQuestion, scope: Scope) -> TendencyQuestion:
    """A question as a record, its options in a drawn order.

    Raises:
        ValidationError: two options are equal.
    """
    places = list(range(len(LETTERS)))
    random.Random(seed("options", event.key, written.question)).shuffle(places)
    right = LETTERS.index(written.answer)
    return TendencyQuestion.model_validate(
        {
            "key": question_key(event.key, "tendency", written.question),
            "event": event.key,
            "text": written.question,
            "options": tuple(written.options[place] for place in places),
            "answer": LETTERS[places.index(right)],
            "scope": scope,
            "about_event_subject": written.about_subject,
        }
    )
