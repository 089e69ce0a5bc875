"""What calls will take before they are made: calls, rough tokens, dollars where the price is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from construction.llm.cost.prices import Price

if TYPE_CHECKING:
    from construction.llm.step import Message

CHARACTERS_PER_TOKEN = 4  # roughly, of English text under common tokenisers; for estimates only


class CallEstimate(NamedTuple):
    """What some calls take, first attempts only.

    Attributes:
        calls: How many.
        tokens_in: Tokens of all prompts, at four characters a token.
        tokens_out: Tokens of all replies, as long as is usual or allowed.
        cost: US dollars; None where no price is known.
    """

    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


class CallCounter:
    """Adds up calls before they are made."""

    def __init__(self) -> None:
        self._calls = self._characters = self._tokens_out = 0

    def add(self, messages: Sequence[Message], *, reply_tokens: int, times: int = 1) -> None:
        """Count a call.

        Args:
            messages: The chat that is sent.
            reply_tokens: Tokens of its reply.
            times: How often it is made.
        """
        self._calls += times
        self._characters += times * sum(len(m.content) for m in messages)
        self._tokens_out += times * reply_tokens

    def estimate(self, price: Price | None) -> CallEstimate:
        """What the calls counted so far take."""
        tokens_in = self._characters // CHARACTERS_PER_TOKEN
        cost = price.cost(tokens_in, self._tokens_out) if price else None
        return CallEstimate(self._calls, tokens_in, self._tokens_out, cost)


def sum_estimates(parts: Iterable[CallEstimate]) -> CallEstimate:
    """Several estimates as one; without dollars where one of them has none.

    Example:
        >>> sum_estimates([CallEstimate(1, 10, 2, 0.5), CallEstimate(2, 20, 4, None)])
        CallEstimate(calls=3, tokens_in=30, tokens_out=6, cost=None)
    """
    calls, tokens_in, tokens_out, costs = zip(*parts, strict=True)
    return CallEstimate(sum(calls), sum(tokens_in), sum(tokens_out), None if None in costs else sum(costs))
