"""A language model reads: would a person ask this, is a prompt cut at the object, and does it leak?

All items of a fact go in one request, and the reply has one reading for each; what it leaves out is asked about once
more. Leaking words must be quoted: the quoted words have to stand in the prompt, and whatever a reply does not say of
an item is ``unscored``, never a verdict for or against. Facts and texts are data in these prompts: nothing in them is
followed, and a reply can only become a label, a reason and places in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, create_model, model_validator
from typing_extensions import override

from construction.checks.prompts import blank_step_labels
from construction.llm.client import Client, Reply, gather_all, lineage_of_call
from construction.llm.prompt_file import PromptStep
from construction.llm.prompt_text import LONGEST, fence_text, find_quote, tidy
from construction.llm.step import Message, Request, StrictReply
from construction.prompts.prompt_file import FILES, WriterPrompt
from schemas.facts import Entity, Fact
from schemas.lineage import Lineage
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.text.mentions import find
from schemas.verdicts import Label, Span, Verdict, verdict_key

TOGETHER = 12  # items of a fact in one request
_NONE = "none"
_ARTICLE = r"the|a|an"
_TITLE = r"governor|(?:lord )?mayor|president|(?:prime )?minister|secretary|chancellor|coach|mr|mrs|ms|dr|sir|dame"
_PLACE_WITHIN = r"central|downtown"
_BEFORE_NAME = re.compile(rf"(?i)\b(?:{_ARTICLE}|{_TITLE}|{_PLACE_WITHIN})\b\.?")


@dataclass(frozen=True)
class VerifyAsk:
    """What is asked about: a question or a script prompt, and the fact that it is about."""

    fact: Fact
    item: ScriptPrompt | ScriptQuestion

    @property
    def too_long(self) -> bool:
        """Whether the text, or a name in the fact, is too long to be sent."""
        fact = self.fact
        names = [fact.subject.text, fact.old.text, fact.fact_prompt, fact.new.text if fact.new else ""]
        return sum(map(len, [self.item.text, *names])) > LONGEST


class Reading(StrictReply):
    """What a reader says of one text.

    Attributes:
        n: Number of the text in the request, from 1.
    """

    n: int


Answered = Literal["yes", "no", "unsure"]


R = TypeVar("R", bound=Reading)


class QuestionReading(Reading):
    """What a reader who knows the object says of one question.

    Attributes:
        asked: Whether an ordinary person would ask an assistant this.
        needed: Whether who does this task has to know the object.
    """

    why: str
    asked: Answered
    needed: Answered


class PromptReading(Reading):
    """What a reader who knows the object says of one prompt.

    Attributes:
        needed: Whether who does this task has to know the fact for this step.
        same: Whether the next words are the object of the fact, and not something else of the same name.
        quotes: All leaking words, word for word; none is an empty list or ["none"].
    """

    why: str
    needed: Answered
    same: Answered
    quotes: list[str]


class NextWords(Reading):
    """How a reader who was not told the fact continues."""

    next: str


class Readings(StrictReply, Generic[R]):
    """One reading for each text of a request."""

    readings: list[R]


class QuestionReply(Readings[QuestionReading]):
    """A reading of every question."""


class PromptReply(Readings[PromptReading]):
    """A reading of every prompt."""


class NextReply(Readings[NextWords]):
    """The words that come next, text by text."""


@lru_cache(maxsize=256)
def complete(reply: type[BaseModel], count: int) -> type[BaseModel]:
    """The reply type with the same schema that also has to read each of so many texts once."""

    def check(said: Any) -> Any:
        if wrong := _misread(said, count):
            number, times = next(iter(wrong.items()))
            raise ValueError(f"text {number} has {times} readings, and needs one")
        return said

    validators: dict[str, Any] = {"check": model_validator(mode="after")(check)}
    return create_model(reply.__name__, __base__=reply, __validators__=validators)


def _misread(reply: Any, count: int) -> dict[int, int]:
    """How often a reply reads those of so many texts, by number, that it does not read once."""
    times = Counter(reading.n for reading in reply.readings)
    return {n: times[n] for n in range(1, count + 1) if times[n] != 1}


class VerifyStep(PromptStep[Sequence[VerifyAsk], Verdict, WriterPrompt]):
    """Base of the verifier's steps.

    Attributes:
        check: Name under which the verdicts stand, and of the prompt file, whose version is theirs.
    """

    check: ClassVar[str]

    def __init__(self, wording: WriterPrompt, *, model: str) -> None:
        super().__init__(wording)
        self.model = model

    @classmethod
    def load(cls, *, model: str, folder: Path | None = None) -> VerifyStep:
        """The step with its wording; ``model`` is who answers, as the verdicts name it."""
        return cls(FILES.load_all("paper", folder)[cls.check], model=model)

    @property
    def by(self) -> str:
        """``check@version``."""
        return f"{self.check}@{self.version}"

    def prompt(self, item: Sequence[VerifyAsk]) -> list[Message]:
        """The messages about items of one fact: rules, examples, then the fact and the numbered texts as data."""
        fact = item[0].fact
        texts = [f"Text {n}:\n<text>\n{fence_text(ask.item.text)}\n</text>" for n, ask in enumerate(item, 1)]
        values = {
            "subject": tidy(fact.subject.text),
            "statement": tidy(fact.fact_prompt),
            "relation": tidy(fact.relation.label or fact.relation.id),
            "old": tidy(fact.old.text),
            "new": tidy(fact.new.text) if fact.new else "another one",
            "when": f"Today is shortly before {tidy(fact.changed_on)}." if fact.changed_on else "",
            "texts": "\n\n".join(texts),
        }
        return self.wording.chat(values)

    def sample(self, item: Sequence[VerifyAsk], *names: str, attempt: int = 0) -> Request:
        """The request, seeded from the first judged record where the wording asks for it."""
        parameters = self.wording.sampling(item[0].item.id)
        longest = self.wording.reply_tokens * len(item)
        return self.request(item, parameters=parameters)._replace(longest=longest)

    @override
    def usual(self, item: Sequence[VerifyAsk]) -> BaseModel:
        said = [self.good(ask.fact, n) for n, ask in enumerate(item, 1)]
        return self.reply.model_validate({"readings": [reading.model_dump() for reading in said]})

    def good(self, fact: Fact, n: int) -> Reading:
        """What a reader says of a good text."""
        raise NotImplementedError

    def parse(self, item: Sequence[VerifyAsk], reply: BaseModel) -> list[Verdict]:
        """A verdict on each item; one that the reply does not read, or reads twice, is ``unscored``."""
        readings = {reading.n: reading for reading in reply.readings}  # type: ignore[attr-defined]
        wrong = _misread(reply, len(item))
        return [
            self.verdict(ask, "unscored", f"the reply has {wrong[n]} readings of this text")
            if n in wrong
            else self.read(ask, readings[n])
            for n, ask in enumerate(item, 1)
        ]

    def unread(self, asks: Sequence[VerifyAsk], reply: BaseModel) -> list[VerifyAsk]:
        """Items that a reply does not read, or reads twice."""
        return [asks[n - 1] for n in _misread(reply, len(asks))]

    def read(self, ask: VerifyAsk, reading: Any) -> Verdict:
        """The verdict on one item."""
        raise NotImplementedError

    def verdict(self, ask: VerifyAsk, label: Label, reason: str, *, spans: Sequence[Span] = ()) -> Verdict:
        """A verdict by this check and model."""
        return Verdict(
            key=verdict_key(item_id=ask.item.id, by=self.by, model=self.model),
            item_id=ask.item.id,
            by=self.by,
            label=label,
            reason=f"{escape_line(reason)} ({self.label})",
            model=self.model,
            spans=tuple(spans),
        )


class QuestionReadStep(VerifyStep):
    """Asks a reader who sees the object: would a person ask this, and does a script for it need the object?"""

    check: ClassVar[str] = "verify_question"
    reply = QuestionReply

    @override
    def good(self, fact: Fact, n: int) -> QuestionReading:
        return QuestionReading(n=n, why="one has to travel there", asked="yes", needed="yes")

    def read(self, ask: VerifyAsk, reading: QuestionReading) -> Verdict:
        """``drop`` with what is wrong, ``unsure`` where the model cannot say, else ``keep``."""
        faults = ["hardly anybody would ask this"] if reading.asked == "no" else []
        faults += ["a script does not need the object"] if reading.needed == "no" else []
        if faults:
            return self.verdict(ask, "drop", _with_reason(", ".join(faults), reading.why))
        if "unsure" in (reading.asked, reading.needed):
            reason = "the model cannot say whether a person would ask this and needs the object"
            return self.verdict(ask, "unsure", _with_reason(reason, reading.why))
        return self.verdict(ask, "keep", _with_reason("a person would ask this and needs the object", reading.why))


class ReadStep(VerifyStep):
    """Asks a reader who sees the object: does the step need the fact, is the object next, and which words leak?

    The third criterion of ScEdit Appendix B.2.2, and leakage of related knowledge (B.2.1). An object that is named in
    passing is not needed, and a name that is shared by something else is not the same.
    """

    check: ClassVar[str] = "verify_prompt"
    reply = PromptReply

    @override
    def good(self, fact: Fact, n: int) -> PromptReading:
        return PromptReading(n=n, why="the step needs the fact", needed="yes", same="yes", quotes=[])

    def read(self, ask: VerifyAsk, reading: PromptReading) -> Verdict:
        """``drop`` with all that is wrong, and with the places of quoted words.

        ``unscored`` if the only quotes are made up, or are the subject's name or a label.
        """
        quotes = [q for q in reading.quotes if q.strip(" \t\n\"'.").casefold() != _NONE]
        text = ask.item.text
        places = [span for quote in quotes if (span := find_quote(text, quote)) is not None]
        spans = [span for span in places if not _only_subject(text, span, ask.fact)]
        faults = ["the step does not need the fact"] if reading.needed == "no" else []
        faults += ["something else comes next"] if reading.same == "no" else []
        faults += [f"'{spans[0].text}' points to the old object"] if spans else []
        if faults:
            return self.verdict(ask, "drop", _with_reason(", ".join(faults), reading.why), spans=spans)
        if quotes and not spans:
            fault = "stand in the prompt as part of the subject or a label" if places else "do not stand in the prompt"
            return self.verdict(ask, "unscored", f"the quoted words '{shorten_quote(quotes[0])}' {fault}")
        if "unsure" in (reading.needed, reading.same):
            reason = "the model cannot say whether the step needs the fact"
            return self.verdict(ask, "unsure", _with_reason(reason, reading.why))
        reason = "the step needs the fact, the object comes next, and no words leak"
        return self.verdict(ask, "keep", _with_reason(reason, reading.why))


class NextStep(VerifyStep):
    """Asks a reader who is not told the fact how the text continues: the object, or something else.

    It finds continuations that are generic or of another kind ("Convert your money for the"). It does not find an
    object that is named in passing, which a reader guesses because the question is about it.
    """

    check: ClassVar[str] = "verify_next"
    reply = NextReply

    @override
    def good(self, fact: Fact, n: int) -> NextWords:
        return NextWords(n=n, next=fact.old.text)

    def read(self, ask: VerifyAsk, reading: NextWords) -> Verdict:
        """``keep`` where the object is named first, else ``unsure``: whether a reader knows the fact is not said.

        Of a fact that changed in time a reader may know the new object, which counts as well.
        """
        fact = ask.fact
        objects = (fact.old, fact.new) if fact.new and fact.change == "temporal" else (fact.old,)
        told = f"a reader continues '{shorten_quote(tidy(reading.next))}'"
        label: Label = "keep" if any(names_first(reading.next, one) for one in objects) else "unsure"
        return self.verdict(ask, label, told)


def names_first(text: str, entity: Entity) -> bool:
    """Whether a text names somebody or something before all else, articles, titles and "central" aside.

    Example:
        >>> [names_first(text, Entity(text="Oslo")) for text in ("the Oslo office", "central Oslo", "old Oslo", "Rome")]
        [True, True, False, False]
        >>> names_first("Mayor Ida Berg of Oslo", Entity(text="Ida Berg"))
        True
    """
    first = find(text, entity)
    return bool(first) and not re.search(r"\w", _BEFORE_NAME.sub("", text[: first[0].start]))


STEPS: dict[str, type[VerifyStep]] = {"question": QuestionReadStep, "prompt": ReadStep, "next": NextStep}


async def verify(step: VerifyStep, asks: Sequence[VerifyAsk], client: Client) -> tuple[list[Verdict], list[Lineage]]:
    """Verdicts on items, with their lineage, within the client's limits; items of a fact go in one request.

    None on items of a request that the endpoint leaves unanswered, so that they stay due.
    """
    verdicts = [
        step.verdict(ask, "unscored", f"longer than {LONGEST} characters: not sent to a model")
        for ask in asks
        if ask.too_long
    ]
    asked = await gather_all([_ask(step, some, client) for some in requests_of(asks)])
    lineage = [line for said in asked for _, line in said]
    return verdicts + [verdict for said in asked for verdict, _ in said], lineage


async def _ask(step: VerifyStep, asks: Sequence[VerifyAsk], client: Client) -> list[tuple[Verdict, Lineage]]:
    """What a model says of the items of one request; those that its reply leaves out are asked about once more."""
    reply = await client.ask(step.sample(asks))
    said = _said(step, asks, reply, client)
    unread = [] if reply.value is None else step.unread(asks, reply.value)
    if not unread:
        return said
    alone = step.sample(unread)
    reply = await client.ask(alone._replace(reply=complete(alone.reply, len(unread))))
    left = {ask.item.id for ask in unread}
    return [one for one in said if one[0].item_id not in left] + _said(step, unread, reply, client)


def _said(step: VerifyStep, asks: Sequence[VerifyAsk], reply: Reply, client: Client) -> list[tuple[Verdict, Lineage]]:
    """The verdicts that a reply means, each with its lineage; none where there is no answer."""
    if reply.status == "unanswered":
        return []
    if reply.value is None:
        reason = f"no usable reply: {reply.status}: {reply.message[:200]}"
        verdicts = [step.verdict(ask, "unscored", reason) for ask in asks]
    else:
        verdicts = step.parse(asks, reply.value)
    return [
        (verdict, lineage_of_call(verdict.id, "verify", reply, client, step, parents=(verdict.item_id,)))
        for verdict in verdicts
    ]


def requests_of(asks: Sequence[VerifyAsk]) -> list[list[VerifyAsk]]:
    """What goes into each request: items of one fact that are short enough to be sent, twelve at most."""
    by_fact: dict[str, list[VerifyAsk]] = {}
    for ask in asks:
        if not ask.too_long:
            by_fact.setdefault(ask.fact.id, []).append(ask)
    return [some[n : n + TOGETHER] for some in by_fact.values() for n in range(0, len(some), TOGETHER)]


def shorten_quote(quote: str, length: int = 80) -> str:
    """A quote for a reason, with dots where it was cut.

    Example:
        >>> shorten_quote("the seat of the firm", 11), shorten_quote("Oslo")
        ('the seat...', 'Oslo')
    """
    return quote if len(quote) <= length else f"{quote[: length - 3].rstrip()}..."


def _with_reason(text: str, why: str) -> str:
    return f"{text}: {why}" if why.strip() else text


def _only_subject(text: str, span: Span, fact: Fact) -> bool:
    """Whether quoted words are nothing but the subject's name or a step's label, which no prompt can do without."""
    if not re.search(r"\w", blank_step_labels(text)[span.start : span.end]):
        return True
    return any(m.start <= span.start and span.end <= m.end for m in find(text, fact.subject))


READ = "read@1"
"""Check that says whether anybody has read where a script is cut, which no rule can tell."""


def read_verdict(prompt_id: str, *, by: str = "") -> Verdict:
    """``unsure`` of a prompt that nobody has read; ``keep`` where a model has, whose own verdicts then count.

    So a prompt about which a verifier said nothing is in no split, though a rule keeps what is ``unscored``.

    Args:
        prompt_id: Content id of the prompt.
        by: The model that read it; empty where nobody did.
    """
    reason = f"read by {by}" if by else "nobody has read where the script is cut: have people or a model read it"
    label: Label = "keep" if by else "unsure"
    return Verdict(
        key=verdict_key(item_id=prompt_id, by=READ), item_id=prompt_id, by=READ, label=label, reason=escape_line(reason)
    )


class UnansweredCall(Exception):
    """The endpoint left a call unanswered; the fact is finished by a later run."""


class Verifier:
    """Asks the verifier's questions about the texts of a fact, each about all texts in one request.

    Args:
        client: Asks the model that reads.
        prompts: Folder of the user's own prompts, which replace ours.
    """

    def __init__(self, client: Client, prompts: Path | None = None) -> None:
        self.client, self.name = client, client.endpoint.model
        self._steps = {task: step.load(model=self.name, folder=prompts) for task, step in STEPS.items()}

    async def read(
        self, tasks: Sequence[str], fact: Fact, items: Sequence[ScriptPrompt | ScriptQuestion], trace: list[Lineage]
    ) -> dict[str, list[Verdict]]:
        """What it says of each text, by the text's content id.

        Raises:
            UnansweredCall: a call has no answer.
        """
        asks = [VerifyAsk(fact, item) for item in items]
        said: dict[str, list[Verdict]] = {item.id: [] for item in items}
        if not asks:
            return said
        answers = await gather_all([verify(self._steps[task], asks, self.client) for task in tasks])
        for verdicts, lines in answers:
            if len(verdicts) < len(asks):
                raise UnansweredCall(f"no verdict from {self.name}")
            trace += lines
            for verdict in verdicts:
                said[verdict.item_id].append(verdict)
        return said
