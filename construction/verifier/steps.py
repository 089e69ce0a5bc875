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
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

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
    """The reply of a capable model: all leaking words, word for word; none is an empty list or ["none"]."""

    model_config = ConfigDict(extra="forbid")
    why: str
    quotes: list[str]


class OneQuote(BaseModel):
    """The reply of the embedded model: the leaking words, or "none"."""

    model_config = ConfigDict(extra="forbid")
    quote: Annotated[str, StringConstraints(max_length=80)]


class Depends(BaseModel):
    """Whether the script would be the same whatever the object is."""

    model_config = ConfigDict(extra="forbid")
    why: str
    same: Literal["yes", "no", "unsure"]


class DependsShort(BaseModel):
    """The same, for the embedded model."""

    model_config = ConfigDict(extra="forbid")
    same: Literal["yes", "no"]


class Guides(BaseModel):
    """Whether the object comes next where a prompt was cut."""

    model_config = ConfigDict(extra="forbid")
    why: str
    next: Literal["yes", "no", "unsure"]


class GuidesShort(BaseModel):
    """The same, for the embedded model."""

    model_config = ConfigDict(extra="forbid")
    next: Literal["yes", "no"]


class VerifyStep(PromptStep[VerifyAsk, Verdict]):
    """Base of the verifier's steps.

    Attributes:
        check: Name under which the verdicts stand; their version is that of the prompt file.
        task: Part of the prompt file's name.
        about_questions: Whether it looks at questions, and not at prompts.
    """

    check: ClassVar[str]
    task: ClassVar[str]
    about_questions: ClassVar[bool] = False

    def __init__(self, wording: VerifierPrompt, *, model: str) -> None:
        self.wording, self.model = wording, model
        self.name, self.version = wording.name, wording.version

    @classmethod
    def load(cls, profile: str, *, model: str) -> VerifyStep:
        """The step with the wording of a profile; ``model`` is who answers, as the verdicts name it."""
        return cls(load_verify(cls.task, profile), model=model)

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
        fact = item.fact
        values = {
            "subject": tidy(fact.subject.text),
            "statement": tidy(fact.fact_prompt),
            "relation": tidy(fact.relation.label or fact.relation.id),
            "old": tidy(fact.old.text),
            "new": tidy(fact.new.text) if fact.new else "another one",
            "text": fence_text(self.text(item)),
        }
        return self.wording.chat(values)

    def sample(self, ask: VerifyAsk) -> Request:
        """The request, seeded from the judged record where the wording asks for it."""
        request = self.request(ask, parameters=self.wording.sampling(self.item(ask).id))
        return request._replace(longest=self.wording.reply_tokens)

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

    def __init__(self, wording: VerifierPrompt, *, model: str) -> None:
        super().__init__(wording, model=model)
        self.reply = Quotes if wording.shape == "list" else OneQuote

    def parse(self, item: VerifyAsk, reply: BaseModel) -> list[Verdict]:
        """``drop`` with the places of the quoted words, ``keep`` for "none", ``unscored`` where no quote occurs."""
        if isinstance(reply, Quotes):
            quotes_of_reply, why = reply.quotes, reply.why
        else:
            assert isinstance(reply, OneQuote)
            quotes_of_reply, why = [reply.quote], ""
        quotes = [q for q in quotes_of_reply if q.strip(" \t\n\"'.").casefold() != _NONE]
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


class ChoiceStep(VerifyStep):
    """Base of steps that ask for one of few words.

    Attributes:
        replies: Reply types of a capable model and of the embedded one.
        field: The field of both that holds the word.
        labels: What each word means: label and reason.
    """

    replies: ClassVar[tuple[type[BaseModel], type[BaseModel]]]
    field: ClassVar[str]
    labels: ClassVar[Mapping[str, tuple[Label, str]]]

    def __init__(self, wording: VerifierPrompt, *, model: str) -> None:
        super().__init__(wording, model=model)
        self.reply = self.replies[wording.shape != "list"]

    def parse(self, item: VerifyAsk, reply: BaseModel) -> list[Verdict]:
        """The verdict that the word stands for, with the model's reason where it gives one."""
        fields = reply.model_dump()
        why = fields.get("why")
        label, reason = self.labels[fields[self.field]]
        return [self.verdict(item, label, f"{reason}: {why}" if why else reason)]


class DependsStep(ChoiceStep):
    """Asks whether the answer to a question would be the same whatever the object of the fact is."""

    check: ClassVar[str] = "verify_depends"
    task: ClassVar[str] = "depends"
    about_questions: ClassVar[bool] = True
    replies = (Depends, DependsShort)
    field: ClassVar[str] = "same"
    labels: ClassVar[Mapping[str, tuple[Label, str]]] = {
        "yes": ("drop", "the script would be the same whatever the object is"),
        "no": ("keep", "the script depends on the object"),
        "unsure": ("unsure", "the model cannot tell whether the script depends on the object"),
    }


class CutStep(ChoiceStep):
    """Asks whether the place of the cut leads to the object (the third criterion of ScEdit Appendix B.2.2)."""

    check: ClassVar[str] = "verify_cut"
    task: ClassVar[str] = "cut"
    replies = (Guides, GuidesShort)
    field: ClassVar[str] = "next"
    labels: ClassVar[Mapping[str, tuple[Label, str]]] = {
        "yes": ("keep", "the place of the cut leads to the object"),
        "no": ("drop", "the place of the cut does not lead to the object"),
        "unsure": ("unsure", "the model cannot tell whether the place of the cut leads to the object"),
    }


STEPS: dict[str, type[VerifyStep]] = {"leak": LeakStep, "depends": DependsStep, "cut": CutStep}


async def verify(step: VerifyStep, ask: VerifyAsk, client: Client) -> tuple[list[Verdict], list[Lineage]]:
    """Verdicts on one item, with their lineage; none where the endpoint is away, so that the item stays due."""
    if step.too_long(ask):
        return [step.verdict(ask, "unscored", f"longer than {LONGEST} characters: not sent to a model")], []
    reply = await client.ask(step.sample(ask))
    if reply.status == "unanswered":
        return [], []
    if reply.value is None:
        verdicts = [step.verdict(ask, "unscored", f"no usable reply: {reply.status}: {reply.message[:200]}")]
    else:
        verdicts = step.parse(ask, reply.value)
    return verdicts, [_line(verdict, step, reply, client) for verdict in verdicts]


async def verify_all(
    step: VerifyStep, asks: Sequence[VerifyAsk], client: Client
) -> tuple[list[Verdict], list[Lineage]]:
    """``verify`` for many items at once, within the client's limits; results in the order of the items."""
    from construction.llm.client import gather_all

    done = await gather_all([verify(step, ask, client) for ask in asks])
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
