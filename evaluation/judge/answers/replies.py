"""A judge's replies about open answers: several aspects in one reply, each from 1 to 5, under the rubric's rule.

A rating that is plainly one is read (``4``, ``"4"``, ``4.0``, ``"4/5"``); ``true``, ``0``, ``6``, ``"4/7"`` and words
are not. A reply that lacks an aspect or breaks the rule goes back to the judge once, with what is wrong; after that it
is unscored.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, PrivateAttr, model_validator

from evaluation.judge.reply_reading import points
from schemas.ratings import CONSISTENCY, TENDENCY, Rubric

Points = Literal[1, 2, 3, 4, 5]


class AnswerReply(BaseModel):
    """What every reply about an open answer tells: a rating of each aspect of its rubric."""

    model_config = ConfigDict(extra="forbid")
    rubric: ClassVar[Rubric]

    _read: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _read_plainly(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        notes: list[str] = []
        if isinstance(data, dict):
            data = {name: _plain(cls, name, value, notes) for name, value in data.items()}
            strangers = [name for name in data if name not in cls.model_fields]
            notes += [f"passed over: {', '.join(map(str, strangers))[:80]}"] if strangers else []
            data = {name: value for name, value in data.items() if name in cls.model_fields}
        reply = handler(data)
        if fault := cls.rubric.fault(reply.ratings):
            raise ValueError(fault)
        reply._read = "; ".join(notes)
        return reply

    @property
    def ratings(self) -> dict[str, int]:
        """The ratings by aspect."""
        return {aspect: int(getattr(self, aspect)) for aspect in self.rubric.aspects}

    @property
    def explanation(self) -> str:
        """The sentence that explains them; empty where none is asked for."""
        return ""

    @property
    def read_as(self) -> str:
        """What was read into a reply of another shape; empty where it was as asked for."""
        return self._read


def _plain(cls: type[AnswerReply], name: str, value: Any, notes: list[str]) -> Any:
    """A rating as a number where it plainly is one."""
    if name not in cls.rubric.aspects:
        return value
    if isinstance(value, bool):
        return str(value).casefold()  # a truth value is no 1
    number = points(value, highest=cls.rubric.points[1])
    if number is not None and type(value) is not int:
        notes.append(f"{name} {value!r} read as {number}")
    return value if number is None else number


class TendencyRatings(AnswerReply):
    """The four ratings of an answer."""

    rubric: ClassVar[Rubric] = TENDENCY
    accuracy: Points
    coherence: Points
    comprehensiveness: Points
    overall: Points


class ExplainedTendencyRatings(TendencyRatings):
    """The four ratings of an answer, and one sentence."""

    reason: str

    @property
    def explanation(self) -> str:
        """The sentence."""
        return self.reason


class ConsistencyRating(AnswerReply):
    """How far two answers say the same."""

    rubric: ClassVar[Rubric] = CONSISTENCY
    consistency: Points


class ExplainedConsistencyRating(ConsistencyRating):
    """How far two answers say the same, and one sentence."""

    reason: str

    @property
    def explanation(self) -> str:
        """The sentence."""
        return self.reason


REPLIES: dict[tuple[str, str], type[AnswerReply]] = {
    ("tendency", "reason"): ExplainedTendencyRatings,
    ("tendency", "rating"): TendencyRatings,
    ("consistency", "reason"): ExplainedConsistencyRating,
    ("consistency", "rating"): ConsistencyRating,
}
"""The reply's type by rubric and by what a prompt file asks for."""
