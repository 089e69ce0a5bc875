"""Answers: what a model said to probes, and the scores that metrics make of them."""

from __future__ import annotations

from typing import Literal

from schemas.core.records import Frozen, Key


class TargetScore(Frozen):
    """Log-probability of one target: sum over its tokens (nats), and their number."""

    text: str
    logprob: float
    tokens: int

    def value(self, normalisation: str) -> float:
        """Log-probability, ``mean`` per token (as the published code) or ``sum`` (as the paper's formula)."""
        return self.logprob / self.tokens if normalisation == "mean" else self.logprob


class GeneratedText(Frozen):
    """A text as the model wrote it.

    Attributes:
        text: The raw text, from the answer's given start to the stop, which is cut off.
        tokens: New tokens. ``ended``: by an end token, a stop text, or the most tokens allowed.
        chat: Whether a chat template stood around the prompt.
    """

    text: str
    tokens: int
    ended: Literal["eos", "stop", "length"]
    chat: bool = False


class Answer(Frozen):
    """What the model said to one probe; an error or a truncated prompt is a value, never a zero."""

    probe: str
    targets: tuple[TargetScore, ...] = ()
    written: GeneratedText | None = None
    truncated: bool = False
    error: str | None = None


class ItemScore(Frozen):
    """One probe's score; ``value`` None means unscored, and ``reason`` says why. ``tie`` marks equal targets."""

    probe: str
    item: str
    value: float | None
    cluster: str | None = None
    tie: bool = False
    reason: str = ""


class CaseScores(Frozen):
    """All scores of one metric on one case."""

    case: Key
    metric: str
    items: tuple[ItemScore, ...]

    @property
    def mean(self) -> float | None:
        """Mean over scored items; None where none is scored."""
        values = [i.value for i in self.items if i.value is not None]
        return sum(values) / len(values) if values else None
