"""Answers: what a model said to probes, and the scores that metrics make of them."""

from __future__ import annotations

from typing import Annotated, Literal

from schemas.core.records import UNLESS_EMPTY, UNLESS_NONE, Frozen, Key


class TargetScore(Frozen):
    """Log-probability of one target: sum over its tokens (nats), and their number.

    Attributes:
        greedy: Whether each of its tokens is the most probable one after those before it, so that greedy writing begins
            with the target; None where the probe does not ask for it (and nothing of it is stored).
        matched: How many of its tokens are the most probable ones, each after the target's own tokens before it
            (teacher forcing); None where the probe does not ask for it.
    """

    text: str
    logprob: float
    tokens: int
    greedy: Annotated[bool | None, UNLESS_NONE] = None
    matched: Annotated[int | None, UNLESS_NONE] = None

    def value(self, normalisation: str) -> float:
        """Log-probability, ``mean`` per token (as the published code) or ``sum`` (as the paper's formula)."""
        return self.logprob / self.tokens if normalisation == "mean" else self.logprob


class GeneratedText(Frozen):
    """A text as the model wrote it.

    Attributes:
        text: The raw text, from the answer's given start to the stop, which is cut off; of a model that thinks first
            the answer alone.
        tokens: New tokens, those of a thought among them.
        ended: By an end token, a stop text, or the most tokens allowed.
        chat: Whether a chat template stood around the prompt.
        thought: What was thought before the answer; None where nothing was, or thoughts were not asked for (and nothing
            of it is stored).
        unfinished: The thought has no end, so there is no answer.
    """

    text: str
    tokens: int
    ended: Literal["eos", "stop", "length"]
    chat: bool = False
    thought: Annotated[str | None, UNLESS_NONE] = None
    unfinished: Annotated[bool, UNLESS_EMPTY] = False


class NextTokens(Frozen):
    """The most probable next tokens, best first: their ids, and their log-probabilities (nats)."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


class Answer(Frozen):
    """What the model said to one probe; an error or a truncated prompt is a value, never a zero.

    ``next_tokens``: where the probe asks for the most probable ones; nothing of it is stored where it does not.
    """

    probe: str
    targets: tuple[TargetScore, ...] = ()
    written: GeneratedText | None = None
    truncated: bool = False
    error: str | None = None
    next_tokens: Annotated[NextTokens | None, UNLESS_NONE] = None


class ItemScore(Frozen):
    """One probe's score; ``value`` None means unscored, and ``reason`` says why. ``tie`` marks equal targets.

    ``weight``: what it counts in a pooled mean, such as the number of tokens that ``value`` is a mean over.
    ``largest``: the largest value it can have, where that is less than the metric's own bound and known.
    """

    probe: str
    item: str
    value: float | None
    cluster: str | None = None
    tie: bool = False
    reason: str = ""
    weight: float = 1.0
    largest: float | None = None


class CaseScores(Frozen):
    """All scores of one metric on one case."""

    case: Key
    metric: str
    items: tuple[ItemScore, ...]

    @property
    def mean(self) -> float | None:
        """Mean over scored items, weighted; None where none is scored."""
        return _weighted_mean([(i.value, i.weight) for i in self.items if i.value is not None])

    @property
    def largest(self) -> float | None:
        """The largest value that the mean can have; None where some scored item does not say its own."""
        scored = [i for i in self.items if i.value is not None]
        known = [(i.largest, i.weight) for i in scored if i.largest is not None]
        return _weighted_mean(known) if len(known) == len(scored) else None


def _weighted_mean(rows: list[tuple[float, float]]) -> float | None:
    total = sum(weight for _, weight in rows)
    return sum(value * weight for value, weight in rows) / total if total else None
