"""A language model as second reader: does a script prompt leak related knowledge, does a question depend on its fact?

Each question to the model is a step with a pure ``parse``. A leak must be quoted: the quoted words have to stand in the
prompt, "none" is a legal answer, and whatever else comes back is ``unscored``, never a verdict for or against. Facts
and texts are data in these prompts: nothing in them is followed, and a reply can only become a label, a reason and
places in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from construction.checks.leak_in_prompt import blank_step_labels
from construction.llm.call_lineage import lineage_of_call
from construction.llm.prompt_text import LONGEST, fence_text, find_quote, tidy
from construction.llm.step import Message, PromptStep, Request
from construction.llm.text_quality import text_quality
from construction.verifier.prompt_files import VerifierPrompt, load_verify
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.text.mentions import find
from schemas.verdicts import Label, Span, Verdict, verdict_key

if TYPE_CHECKING:
    from construction.llm.client import Client, Reply

_NONE = "none"


@dataclass(frozen=True, kw_only=True)
class VerifyAsk:
    """What is asked about: a question of a fact, and a prompt where the step looks at one."""

    fact: Fact
    question: ScriptQuestion | None = None
    prompt: ScriptPrompt | None = None


class Quotes(BaseModel):
    """All leaking words, word for word; none is an empty list or ["none"]."""

    model_config = ConfigDict(extra="forbid")
    why: str
    quotes: list[str]


class Depends(BaseModel):
    """Whether the script would be the same whatever the object is."""

    model_config = ConfigDict(extra="forbid")
    why: str
    same: Literal["yes", "no", "unsure"]


Answered = Literal["yes", "no", "unsure"]


class CutReading(BaseModel):
    """What a reader who knows the object says of one cut.

    Attributes:
        n: Number of the text.
        needed: Whether who does this task has to know the fact for this step.
        same: Whether the next words are the object of the fact, and not something else of the same name.
    """

    model_config = ConfigDict(extra="forbid")
    n: int
    why: str
    needed: Answered
    same: Answered


class CutReadings(BaseModel):
    """The reply about all prompts of a fact."""

    model_config = ConfigDict(extra="forbid")
    readings: list[CutReading]


class NextWords(BaseModel):
    """How a reader who was not told the fact goes on."""

    model_config = ConfigDict(extra="forbid")
    n: int
    next: str


class NextReadings(BaseModel):
    """The reply about all prompts of a fact."""

    model_config = ConfigDict(extra="forbid")
    readings: list[NextWords]


class VerifyStep(PromptStep[VerifyAsk, Verdict]):
    """Base of the verifier's steps.

    Attributes:
        check: Name under which the verdicts stand; their version is that of the prompt file.
        task: Part of the prompt file's name.
        about_questions: Whether it looks at questions, and not at prompts.
        together: Items of a fact in one request.
    """

    check: ClassVar[str]
    task: ClassVar[str]
    about_questions: ClassVar[bool] = False
    together: ClassVar[int] = 1

    def __init__(self, wording: VerifierPrompt, *, model: str) -> None:
        self.wording, self.model = wording, model
        self.name, self.version = wording.name, wording.version

    @classmethod
    def load(cls, *, model: str) -> VerifyStep:
        """The step with its wording; ``model`` is who answers, as the verdicts name it."""
        return cls(load_verify(cls.task), model=model)

    @property
    def by(self) -> str:
        """``check@version``."""
        return f"{self.check}@{self.version}"

    def item(self, ask: VerifyAsk) -> ScriptPrompt | ScriptQuestion:
        """The record that is judged: the script prompt, or the question of a step about questions."""
        item = ask.question if self.about_questions else ask.prompt
        assert item is not None
        return item

    def text(self, ask: VerifyAsk) -> str:
        """The text that is judged: question and steps up to the cut, or the question."""
        return self.item(ask).text

    def prompt(self, item: VerifyAsk) -> list[Message]:
        """The messages: rules, examples, then the fact and the text as data."""
        return self.wording.chat({**self.fact_values(item.fact), "text": fence_text(self.text(item))})

    @staticmethod
    def fact_values(fact: Fact) -> dict[str, str]:
        """What a wording may say of a fact."""
        return {
            "subject": tidy(fact.subject.text),
            "statement": tidy(fact.fact_prompt),
            "relation": tidy(fact.relation.label or fact.relation.id),
            "old": tidy(fact.old.text),
            "new": tidy(fact.new.text) if fact.new else "another one",
        }

    def messages(self, asks: Sequence[VerifyAsk]) -> list[Message]:
        """The messages of a request, about at most ``together`` items."""
        return self.prompt(asks[0])

    def sample(self, asks: Sequence[VerifyAsk]) -> Request:
        """The request, seeded from the first judged record where the wording asks for it."""
        parameters = self.wording.sampling(self.item(asks[0]).id)
        longest = self.wording.reply_tokens * len(asks)
        return Request(tuple(self.messages(asks)), self.reply, parameters, longest=longest)

    def verdicts(self, asks: Sequence[VerifyAsk], reply: BaseModel) -> list[Verdict]:
        """What a reply says of the items of its request."""
        return self.parse(asks[0], reply)

    def too_long(self, ask: VerifyAsk) -> bool:
        """Whether the text, or a name in the fact, is too long to be sent."""
        names = [ask.fact.subject.text, ask.fact.old.text, ask.fact.fact_prompt]
        names += [ask.fact.new.text] if ask.fact.new else []
        return sum(map(len, [self.text(ask), *names])) > LONGEST

    def verdict(self, ask: VerifyAsk, label: Label, reason: str, *, spans: Sequence[Span] = ()) -> Verdict:
        """A verdict by this check and model."""
        item = self.item(ask)
        return Verdict(
            key=verdict_key(item_id=item.id, by=self.by, model=self.model),
            item_id=item.id,
            by=self.by,
            label=label,
            reason=f"{escape_line(reason)} ({self.label})",
            model=self.model,
            spans=tuple(spans),
        )


class LeakStep(VerifyStep):
    """Asks for the words of a prompt that give away knowledge related to the old object."""

    check: ClassVar[str] = "verify_leak"
    task: ClassVar[str] = "leak"
    reply = Quotes

    def parse(self, item: VerifyAsk, reply: BaseModel) -> list[Verdict]:
        """``drop`` with the places of the quoted words, ``keep`` for "none", ``unscored`` where no quote occurs."""
        assert isinstance(reply, Quotes)
        why = reply.why
        quotes = [q for q in reply.quotes if q.strip(" \t\n\"'.").casefold() != _NONE]
        if not quotes:
            return [self.verdict(item, "keep", "the model finds no leaking words")]
        text = self.text(item)
        places = [span for quote in quotes if (span := find_quote(text, quote)) is not None]
        spans = [span for span in places if not _only_subject(text, span, item.fact)]
        if not spans:
            fault = "stand in the prompt as part of the subject or a label" if places else "do not stand in the prompt"
            return [self.verdict(item, "unscored", f"the quoted words '{shorten_quote(quotes[0])}' {fault}")]
        reason = f"'{spans[0].text}' gives away the old object" + (f": {why}" if why else "")
        return [self.verdict(item, "drop", reason, spans=spans)]


def shorten_quote(quote: str, length: int = 80) -> str:
    """A quote for a reason, with dots where it was cut.

    Example:
        >>> shorten_quote("the seat of the firm", 11), shorten_quote("Oslo")
        ('the seat...', 'Oslo')
    """
    return quote if len(quote) <= length else f"{quote[: length - 3].rstrip()}..."


class DependsStep(VerifyStep):
    """Asks whether the answer to a question would be the same whatever the object of the fact is."""

    check: ClassVar[str] = "verify_depends"
    task: ClassVar[str] = "depends"
    about_questions: ClassVar[bool] = True
    reply = Depends
    labels: ClassVar[Mapping[str, tuple[Label, str]]] = {
        "yes": ("drop", "the script would be the same whatever the object is"),
        "no": ("keep", "the script depends on the object"),
        "unsure": ("unsure", "the model cannot tell whether the script depends on the object"),
    }

    def parse(self, item: VerifyAsk, reply: BaseModel) -> list[Verdict]:
        """The verdict that the word stands for, with the model's reason."""
        assert isinstance(reply, Depends)
        label, reason = self.labels[reply.same]
        return [self.verdict(item, label, f"{reason}: {reply.why}")]


class FactStep(VerifyStep):
    """Base of steps that ask about all prompts of a fact in one request."""

    together: ClassVar[int] = 12

    def prompt(self, item: VerifyAsk) -> list[Message]:
        """The messages about one prompt."""
        return self.messages([item])

    def messages(self, asks: Sequence[VerifyAsk]) -> list[Message]:
        """The messages about prompts of one fact: rules, examples, then the fact and the numbered texts as data."""
        fences = [f"Text {n}:\n<text>\n{fence_text(self.text(ask))}\n</text>" for n, ask in enumerate(asks, 1)]
        return self.wording.chat({**self.fact_values(asks[0].fact), "texts": "\n\n".join(fences)})

    def read(self, ask: VerifyAsk, reading: Any) -> Verdict:
        """The verdict on one prompt."""
        raise NotImplementedError

    def parse(self, item: VerifyAsk, reply: BaseModel) -> list[Verdict]:
        """The verdict on a prompt that was asked about alone."""
        return self.verdicts([item], reply)

    def verdicts(self, asks: Sequence[VerifyAsk], reply: BaseModel) -> list[Verdict]:
        """A verdict on each prompt; one that the reply does not read, or reads twice, is ``unscored``."""
        readings: list[Any] = reply.readings  # type: ignore[attr-defined]
        verdicts = []
        for n, ask in enumerate(asks, 1):
            own = [reading for reading in readings if reading.n == n]
            if len(own) == 1:
                verdicts.append(self.read(ask, own[0]))
            else:
                verdicts.append(self.verdict(ask, "unscored", f"the reply has {len(own)} readings of this prompt"))
        return verdicts


class CutStep(FactStep):
    """Asks a reader who sees the object whether a step needs the fact, and whether its next words are the object.

    The third criterion of ScEdit Appendix B.2.2. A cut is kept only if both are so: a name that is shared by something
    else is not the same, and an object that is named in passing is not needed.
    """

    check: ClassVar[str] = "verify_cut"
    task: ClassVar[str] = "cut"
    reply = CutReadings

    def read(self, ask: VerifyAsk, reading: CutReading) -> Verdict:
        """``keep`` where the fact is needed and the object is the same, ``drop`` where either is not."""
        label: Label = "keep"
        reason = "the step needs the fact, and the object comes next"
        if "no" in (reading.needed, reading.same):
            label = "drop"
            reason = "the step does not need the fact" if reading.needed == "no" else "something else comes next"
        elif "unsure" in (reading.needed, reading.same):
            label, reason = "unsure", "the model cannot tell whether the step needs the fact"
        return self.verdict(ask, label, f"{reason}: {reading.why}" if reading.why.strip() else reason)


class NextStep(FactStep):
    """Asks a reader who is not told the fact how the text goes on: the object, or something else.

    It finds continuations that are generic or of another kind ("Convert your money for the"). It does not find an
    object that is named in passing, which a reader guesses because the question is about it.
    """

    check: ClassVar[str] = "verify_next"
    task: ClassVar[str] = "next"
    reply = NextReadings

    def read(self, ask: VerifyAsk, reading: NextWords) -> Verdict:
        """``keep`` where the object is named first, else ``unsure``: whether a reader knows the fact is not said.

        Of a fact that changed in time a reader may know the new object, which counts as well.
        """
        fact = ask.fact
        objects = (fact.old, fact.new) if fact.new and fact.change == "temporal" else (fact.old,)
        told = f"a reader goes on '{shorten_quote(tidy(reading.next))}'"
        for one in objects:
            first = find(reading.next, one)
            if first and not re.search(r"\w", _ARTICLE.sub("", reading.next[: first[0].start])):
                return self.verdict(ask, "keep", told)
        return self.verdict(ask, "unsure", told)


_ARTICLE = re.compile(r"\b(?:the|a|an)\b", re.IGNORECASE)

STEPS: dict[str, type[VerifyStep]] = {"leak": LeakStep, "depends": DependsStep, "cut": CutStep, "next": NextStep}


async def verify(step: VerifyStep, *asks: VerifyAsk, client: Client) -> tuple[list[Verdict], list[Lineage]]:
    """Verdicts on items that are asked about together, with their lineage.

    None where the endpoint is away, so that the items stay due.
    """
    too_long = [ask for ask in asks if step.too_long(ask)]
    verdicts = [
        step.verdict(ask, "unscored", f"longer than {LONGEST} characters: not sent to a model") for ask in too_long
    ]
    sent = [ask for ask in asks if ask not in too_long]
    if not sent:
        return verdicts, []
    reply = await client.ask(step.sample(sent))
    if reply.status == "unanswered":
        return verdicts, []
    if reply.value is None:
        reason = f"no usable reply: {reply.status}: {reply.message[:200]}"
        read = [step.verdict(ask, "unscored", reason) for ask in sent]
    else:
        read = step.verdicts(sent, reply.value)
    return [*verdicts, *read], [_line(verdict, step, reply, client) for verdict in read]


def requests_of(step: VerifyStep, asks: Sequence[VerifyAsk]) -> list[list[VerifyAsk]]:
    """What goes into each request: items of one fact, at most as many as the step asks about together."""
    by_fact: dict[str, list[VerifyAsk]] = {}
    for ask in asks:
        by_fact.setdefault(ask.fact.id, []).append(ask)
    size = step.together
    return [some[n : n + size] for some in by_fact.values() for n in range(0, len(some), size)]


async def verify_all(
    step: VerifyStep, asks: Sequence[VerifyAsk], client: Client
) -> tuple[list[Verdict], list[Lineage]]:
    """``verify`` for many items at once, within the client's limits; results request by request."""
    from construction.llm.client import gather_all

    done = await gather_all([verify(step, *some, client=client) for some in requests_of(step, asks)])
    return [v for verdicts, _ in done for v in verdicts], [line for _, lines in done for line in lines]


def _line(verdict: Verdict, step: VerifyStep, reply: Reply, client: Client) -> Lineage:
    quality = text_quality(client.endpoint.model, named=step.wording.quality)
    detail = {"quality": quality} if quality else {}
    return lineage_of_call(verdict.id, "verify", reply, client, step.label, parents=(verdict.item_id,), detail=detail)


def _only_subject(text: str, span: Span, fact: Fact) -> bool:
    """Whether quoted words are nothing but the subject's name or a step's label, which no prompt can do without."""
    if not re.search(r"\w", blank_step_labels(text)[span.start : span.end]):
        return True
    return any(m.start <= span.start and span.end <= m.end for m in find(text, fact.subject))
