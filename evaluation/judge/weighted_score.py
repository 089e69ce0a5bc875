"""The log-probability-weighted rating (as in G-Eval, Liu et al. 2023, section 2): the mean of 1 to 7 under the judge.

A judge that wavers between 4 and 5 says so in the probabilities of the two digits; the digit it prints does not. Only
where the endpoint gives the alternatives of the token that holds the rating; elsewhere there is no weighted score, and
the caller says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from evaluation.judge.reply_reading import rating_place

_RATING = re.compile(r'"rating"\s*:\s*"?\s*([1-7])')
LEAST_MASS = 0.5  # of the probability must lie on 1 to 7, or the token was not what we take it for


class WeightedRating(NamedTuple):
    """The mean rating under the judge's probabilities, and how much of the probability lies on 1 to 7."""

    score: float
    mass: float


def weighted_rating(
    logprobs: Sequence[dict[str, Any]] | None,
    rating: int | None = None,
    decides: Callable[[dict[str, Any]], bool] | None = None,
) -> WeightedRating | None:
    """The weighted rating of a reply, or None where its tokens do not tell.

    Args:
        logprobs: The reply's tokens as the endpoint gives them: ``token``, ``logprob``, ``top_logprobs``.
        rating: The rating that was read from the reply: the object that has it decides the score, too. None: the last
            rating of the reply.
        decides: Whether a JSON object of the reply can be the one that has the rating; None: any.

    Example:
        >>> likely = [{"token": "5", "logprob": math.log(0.6)}, {"token": "4", "logprob": math.log(0.2)}]
        >>> tokens = [{"token": '{"rating": '}, {"token": "5", "logprob": math.log(0.6), "top_logprobs": likely}]
        >>> round(weighted_rating([*tokens, {"token": "}"}]).score, 2)
        4.75
    """
    if not logprobs:
        return None
    text = "".join(str(t.get("token", "")) for t in logprobs)
    matches = list(_RATING.finditer(text))
    if not matches:
        return None
    place = matches[-1].start(1) if rating is None else rating_place(text, rating, decides)
    if place is None:
        return None
    digit, at = place, 0
    for token in logprobs:
        piece = str(token.get("token", ""))
        if at <= digit < at + len(piece):
            return _mean(piece, digit - at, token)
        at += len(piece)
    return None


def _mean(piece: str, place: int, token: dict[str, Any]) -> WeightedRating | None:
    """The mean over alternatives that differ from the token in the digit only; white space around may differ too."""
    before, after = piece[:place].strip(), piece[place + 1 :].strip()
    chances: dict[int, float] = {}
    alternatives = token.get("top_logprobs")
    for other in alternatives if isinstance(alternatives, list) else []:
        text, logprob = str(other.get("token", "")).strip(), other.get("logprob")
        middle = text.removeprefix(before).removesuffix(after).strip()
        fits = text.startswith(before) and text.endswith(after) and re.fullmatch("[1-7]", middle)
        if fits and isinstance(logprob, int | float) and logprob <= 0:
            chances[int(middle)] = chances.get(int(middle), 0.0) + math.exp(logprob)
    mass = math.fsum(chances.values())
    if int(piece[place]) not in chances or mass < LEAST_MASS or mass > 1 + 1e-6:
        return None
    return WeightedRating(math.fsum(k * p for k, p in chances.items()) / mass, min(mass, 1.0))
