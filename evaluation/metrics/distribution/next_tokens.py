"""Two next-token distributions of which the most probable tokens are known: divergence and agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence

from schemas.answers import NextTokens

TOP = 50
"""Most probable tokens asked for. More of them see more: the divergence can only grow with their number."""

_LEAST = 1e-4  # mass below which a rest is rounding of the stored values (``scoring.DECIMALS``)
_HALVINGS = 60


def divergence(before: NextTokens, after: NextTokens) -> float:
    """Kullback-Leibler divergence of the distribution after from that before, in nats: the least that fits the lists.

    Tokens in both lists are compared one by one. Those that left the list have at most the probability of its last
    token now, and share with all other tokens what the list leaves over; of all distributions that fit, the nearest one
    counts. So the value is exact where the lists hold the whole vocabulary, and never above the truth elsewhere (data
    processing inequality, Cover and Thomas 2006, section 2.8). Masses below 1e-4 count as 1e-4.

    Example:
        >>> flat = NextTokens(ids=(0, 1), logprobs=(math.log(0.5), math.log(0.5)))
        >>> bent = NextTokens(ids=(0, 1), logprobs=(math.log(0.75), math.log(0.25)))
        >>> round(divergence(flat, bent), 4), divergence(flat, flat)
        (0.1438, 0.0)
    """
    now = dict(zip(after.ids, after.logprobs, strict=True))
    both = [(p, now[token]) for token, p in zip(before.ids, before.logprobs, strict=True) if token in now]
    total = math.fsum(math.exp(p) * (p - q) for p, q in both)
    left = [math.exp(p) for token, p in zip(before.ids, before.logprobs, strict=True) if token not in now]
    rest = 1 - math.fsum(math.exp(p) for p in before.logprobs)
    unlisted = max(1 - math.fsum(math.exp(q) for q in after.logprobs), _LEAST)
    arrived = math.fsum(math.exp(q) for q in after.logprobs) - math.fsum(math.exp(q) for _, q in both)
    return max(total + _least_of_rest(left, rest, unlisted, arrived, cap=math.exp(min(after.logprobs, default=0.0))), 0)


def _least_of_rest(left: Sequence[float], rest: float, unlisted: float, arrived: float, *, cap: float) -> float:
    """The least divergence of what is not in both lists.

    Args:
        left: Probabilities before of tokens that left the list; each has at most ``cap`` now.
        rest: Probability before of all tokens outside of the list.
        unlisted: Probability after of all tokens outside of the list: those that left share it with the rest.
        arrived: Probability after of the tokens that came to the list: they belong to the rest.
        cap: Probability of the last token of the list after.
    """
    rest = rest if rest > _LEAST else 0.0

    def shares(scale: float) -> tuple[list[float], float]:
        return [min(cap, p * scale) for p in left], max(max(arrived, 0.0), rest * scale)

    low, high, mass = 0.0, 1 / _LEAST, unlisted + max(arrived, 0.0)
    for _ in range(_HALVINGS if left else 0):
        middle = (low + high) / 2
        mine, others = shares(middle)
        low, high = (middle, high) if math.fsum(mine) + others <= mass else (low, middle)
    mine, _ = shares(low)
    others = max(mass - math.fsum(mine), _LEAST)
    total = math.fsum(p * math.log(p / max(q, _LEAST * p)) for p, q in zip(left, mine, strict=True))
    return total + (rest * math.log(rest / others) if rest else 0.0)


def agreement(before: NextTokens, after: NextTokens, k: int) -> float:
    """Share of the k most probable tokens before that are among the k most probable ones after.

    Example:
        >>> one = NextTokens(ids=(4, 2, 9), logprobs=(-1.0, -2.0, -3.0))
        >>> two = NextTokens(ids=(2, 4, 7), logprobs=(-1.0, -2.0, -3.0))
        >>> agreement(one, two, 1), agreement(one, two, 2), round(agreement(one, two, 3), 2)
        (0.0, 1.0, 0.67)
    """
    first, second = before.ids[:k], set(after.ids[:k])
    return sum(token in second for token in first) / len(first) if first else 1.0
