"""What a judge is asked about a script, one step an aspect, and what its reply means; no network.

The judge sees the inputs of ScEdit's Figures 8 to 11 and nothing else: never the method, the model or other ratings. A
reply can become a rating from 1 to 7, or an unscored one with its reason; nothing is imputed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, PrivateAttr, model_validator

from construction.llm.prompt_text import LONGEST, fence_text, find_quote, tidy
from construction.llm.step import Message, PromptStep, Request
from evaluation.judge.prompt_files import INPUTS, JudgePromptFile, load_prompt_file
from evaluation.judge.reply_reading import plain_reply
from schemas.facts import Fact
from schemas.raters import Rater
from schemas.ratings import Aspect, Rating
from schemas.text.escaping import escape_line
from schemas.verdicts import Span

_ABSENT = "absent"
_REASON = 300  # characters of a judge's reason that are kept
Points = Literal[1, 2, 3, 4, 5, 6, 7]


@dataclass(frozen=True, kw_only=True)
class JudgeInput:
    """A script with what belongs to it.

    Attributes:
        item: Content id of the script.
        case: Key of its case: the cluster of intervals.
        text: The script as the model wrote it, made safe, its length capped.
        question: The script question.
        fact: The edited fact, with both objects.
        edited: Whether the edit was in force; only decides which object counts for Completeness.
        writer: Model that wrote it, and ``editor``: the method. Never shown to a judge.
        refused: The model declined to answer.
    """

    item: str
    case: str
    text: str
    question: str
    fact: Fact
    edited: bool
    writer: str = ""
    editor: str = ""
    refused: bool = False


class JudgeReply(BaseModel):
    """What every judge's reply tells; a profile's reply adds its fields in the order in which they are asked for."""

    model_config = ConfigDict(extra="forbid")

    _read: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _read_plainly(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        plain = plain_reply(data, tuple(cls.model_fields))
        reply = handler(plain.data)
        reply._read = plain.read
        return reply

    @property
    def read_as(self) -> str:
        """What was read into a reply of another shape; empty where it was as asked for."""
        return self._read

    @property
    def explanation(self) -> str:
        """The sentence that explains the rating; empty where none is asked for."""
        return ""

    @property
    def evidence(self) -> list[str] | None:
        """Quotes from the script; None where none are asked for."""
        return None


class RatingOnly(JudgeReply):
    """The embedded model's reply: the rating."""

    rating: Points


class RatingFirst(JudgeReply):
    """The reply of the profile ``paper``: the rating, then one sentence."""

    rating: Points
    reason: str

    @property
    def explanation(self) -> str:
        """The sentence."""
        return self.reason


class QuotesFirst(JudgeReply):
    """The reply of the profile ``evidence``: quotes or "absent", the rating, one sentence."""

    quotes: list[str]
    rating: Points
    reason: str

    @property
    def explanation(self) -> str:
        """The sentence."""
        return self.reason

    @property
    def evidence(self) -> list[str] | None:
        """The quotes."""
        return self.quotes


_Rated = RatingOnly | RatingFirst | QuotesFirst
_REPLIES: dict[str, type[_Rated]] = {"paper": RatingFirst, "evidence": QuotesFirst, "rating": RatingOnly}


def judge_name(model: str, profile: str) -> str:
    """The judge's name in ratings: its model, and the profile where that is not the paper's.

    Example:
        >>> judge_name("gpt-4o-2024-11-20", "paper"), judge_name("SmolLM2 (embedded, Q4_1)", "embedded")
        ('judge:gpt-4o-2024-11-20', 'judge:SmolLM2-embedded-Q4_1+embedded')
    """
    name = re.sub(r"[\s(),]+", "-", model).strip("-") or "unnamed"
    return Rater.judge(name + ("" if profile == "paper" else f"+{profile}")).stored


class JudgeStep(PromptStep[JudgeInput, Rating]):
    """Asks for the rating of one aspect.

    Args:
        wording: Its prompt file.
        rater: Who answers, as ratings name it.
    """

    def __init__(self, wording: JudgePromptFile, *, rater: str) -> None:
        self.wording, self.rater = wording, rater
        self.name, self.version, self.reply = wording.name, wording.version, _REPLIES[wording.shape]

    @classmethod
    def load(cls, aspect: Aspect, profile: str, *, model: str) -> JudgeStep:
        """The step with the wording of a profile, for a model that answers."""
        return cls(load_prompt_file(aspect, profile), rater=judge_name(model, profile))

    @property
    def aspect(self) -> Aspect:
        """What is rated."""
        return self.wording.aspect

    def prompt(self, item: JudgeInput) -> list[Message]:
        """The messages: criteria, examples, then exactly the inputs of the aspect, as data."""
        fact = item.fact
        counts = fact.new_object if item.edited else fact.old
        known = {
            "question": tidy(item.question),
            "prompt": tidy(fact.fact_prompt),
            "old": tidy(fact.old.text),
            "new": tidy(fact.new_object.text),
            "counts": tidy(counts.text),
            "text": fence_text(item.text),
        }
        values = {name: known[name] for name in INPUTS[self.aspect]}
        return self.wording.chat(values)

    def sampled(self, item: JudgeInput, *, temperature: float | None = None, logprobs: int = 0) -> Request:
        """The request for an item.

        Args:
            item: What to rate.
            temperature: Instead of the wording's, where several samples are to differ.
            logprobs: Alternatives a token whose log-probabilities are asked for; 0 for none.
        """
        if temperature is None:
            parameters = self.wording.sampling(item.item)
        else:
            parameters = {**self.wording.parameters, "temperature": temperature}
        if logprobs:
            parameters |= {"logprobs": True, "top_logprobs": logprobs}
        return self.request(item, parameters=parameters)

    def parse(self, item: JudgeInput, reply: BaseModel) -> list[Rating]:
        """The rating; unscored where the evidence does not stand in the script."""
        assert isinstance(reply, _Rated)
        if reply.evidence is not None and (fault := _fault(item.text, reply.evidence)):
            return [self.unscored(item, fault)]
        return [self.rating(item, reply.rating, reply.explanation)]

    def rating(self, item: JudgeInput, value: int | None, reason: str) -> Rating:
        """A rating by this judge under this form."""
        return Rating(
            key=f"rating/{self.label}/{self.rater}/{self.aspect}/{item.item}",
            item_id=item.item,
            aspect=self.aspect,
            value=value,
            rater=self.rater,
            form=self.label,
            reason=escape_line(reason[:_REASON]),
        )

    def unscored(self, item: JudgeInput, why: str) -> Rating:
        """A rating without a value, and why."""
        return self.rating(item, None, why)

    def cannot(self, item: JudgeInput) -> str:
        """Why an item is not sent to a judge; empty where it is."""
        if item.refused:
            return "not asked: the model declined to answer, there is no script"
        if not item.text.strip():
            return "not asked: the model wrote nothing"
        if len(item.text) + len(item.question) > LONGEST:
            return f"not asked: longer than {LONGEST} characters"
        return ""


def quoted_spans(text: str, reply: BaseModel) -> list[Span]:
    """Where the quotes of a reply stand in a script; empty for "absent" and for profiles without evidence."""
    assert isinstance(reply, JudgeReply)
    spans = [find_quote(text, q, what="evidence") for q in _quotes_given(reply.evidence or [])]
    return [span for span in spans if span is not None]


def _quotes_given(quotes: list[str]) -> list[str]:
    return [q for q in quotes if q.strip(" \t\n\"'.").casefold() != _ABSENT]


def _fault(text: str, quotes: list[str]) -> str:
    """What is wrong with the evidence; empty where all quotes stand in the script, or it is "absent"."""
    quotes_given = _quotes_given(quotes)
    if not quotes:
        return "no evidence: neither a quote nor 'absent'"
    false = next((q for q in quotes_given if find_quote(text, q, what="evidence") is None), None)
    return f"false quote: '{false[:80]}' does not stand in the script" if false is not None else ""
