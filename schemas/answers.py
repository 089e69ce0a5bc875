"""Answers: what a model said to probes, and the scores that metrics make of them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from schemas.core.records import Frozen, Key


class TargetScore(Frozen):
    """Log-probability of one target: sum over its tokens (nats), and their number.

    Attributes:
        greedy: Whether each of its tokens is the most probable one after those before it, so that greedy writing begins
            with the target; None where the probe does not ask for it (and nothing of it is stored).
    """

    text: str
    logprob: float
    tokens: int
    greedy: bool | None = None

    @model_serializer(mode="wrap")
    def _as_before(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        stored: dict[str, Any] = serialize(self)
        if self.greedy is None:
            stored.pop("greedy", None)
        return stored

    def value(self, normalisation: str) -> float:
        """Log-probability, ``mean`` per token (as the published code) or ``sum`` (as the paper's formula)."""
        return self.logprob / self.tokens if normalisation == "mean" else self.logprob


class GeneratedText(Frozen):
    """A text as the model wrote it.

    Attributes:
        text: The raw text, from the answer's given start to the stop, which is cut off.
        tokens: New tokens.
        ended: By an end token, a stop text, or the most tokens allowed.
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
    """One probe's score; ``value`` None means unscored, and ``reason`` says why. ``tie`` marks equal targets.

    ``weight``: what it counts in a pooled mean, such as the number of tokens that ``value`` is a mean over.
    """

    probe: str
    item: str
    value: float | None
    cluster: str | None = None
    tie: bool = False
    reason: str = ""
    weight: float = 1.0


class CaseScores(Frozen):
    """All scores of one metric on one case."""

    case: Key
    metric: str
    items: tuple[ItemScore, ...]

    @property
    def mean(self) -> float | None:
        """Mean over scored items, weighted; None where none is scored."""
        scored = [(i.value, i.weight) for i in self.items if i.value is not None]
        total = sum(weight for _, weight in scored)
        return sum(value * weight for value, weight in scored) / total if total else None
