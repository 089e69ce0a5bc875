"""Asking again: a call whose reply cannot be used goes out once more, as a call of its own, a bounded number of times.

Another attempt is the same request with another sample number, so it has a journal key of its own: what an attempt
brought stays stored with its cost, and a resumed run walks through the same attempts without asking.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from construction.llm.step import Request

ATTEMPTS = 2  # of a construction, where the user does not say
ASKED_AGAIN = ("unparseable", "refused")
"""Fates of a call that another attempt may mend: empty, cut off, of the wrong shape, refused. What is permanent (a
context that is too long) would fail again."""

_APART = 1_000_000  # between the sample numbers of two attempts; no step takes so many samples


def another_attempt(request: Request, attempt: int) -> Request:
    """The request as its attempt number ``attempt`` (from 0) sends it; a seed is another one each time.

    Example:
        >>> from construction.llm.step import PlainText
        >>> again = another_attempt(Request((), PlainText, {"seed": 7}, sample=3), 2)
        >>> again.sample, again.parameters
        (2000003, {'seed': 9})
    """
    if not attempt:
        return request
    parameters = dict(request.parameters)
    if "seed" in parameters:
        parameters["seed"] += attempt
    return request._replace(sample=request.sample + _APART * attempt, parameters=parameters)


class Reply(NamedTuple):
    """The outcome of a request, after repair.

    Attributes:
        status: ``ok``, ``refused``, ``unparseable``, ``permanent``, or ``unanswered`` (nothing is cached: ask again
            another time).
        value: The parsed reply where ``ok``.
        raw: Text of the last reply.
        message: Why it is not ``ok``.
        request: Journal key of the last call.
        asked: Calls that went over the network now; 0 when all was cached.
        cost: US dollars of all rounds and attempts together; None where no price is known.
        answered_by: Model that gave the last reply, where it is not the one that was asked.
    """

    status: Literal["ok", "refused", "unparseable", "permanent", "unanswered"]
    value: BaseModel | None
    raw: str
    message: str
    request: str
    tokens_in: int | None
    tokens_out: int | None
    at: str
    asked: int
    cost: float | None = None
    answered_by: str | None = None


def merge_attempts(earlier: Reply | None, reply: Reply) -> Reply:
    """A reply with what the attempts before it took."""
    if earlier is None:
        return reply
    both = (earlier, reply)
    return reply._replace(
        tokens_in=known_sum(r.tokens_in for r in both),
        tokens_out=known_sum(r.tokens_out for r in both),
        cost=known_sum(r.cost for r in both),
        asked=earlier.asked + reply.asked,
    )


def known_sum(values: Iterable[Any]) -> Any:
    """The sum of what is known, or None where nothing is."""
    known = [v for v in values if v is not None]
    return sum(known) if known else None
