"""Asking again: a call whose reply cannot be used goes out once more, as a call of its own, a bounded number of times.

Another attempt is the same request with another sample number, so it has a journal key of its own: what an attempt
brought stays on record with its cost, and a resumed run walks through the same attempts without asking.
"""

from __future__ import annotations

from construction.llm.reply_cache import ReplyCache
from construction.llm.step import Request

ATTEMPTS = 2  # of a construction begun with this version
ASKED_AGAIN = ("unparseable", "refused")
"""Fates of a call that another attempt may mend: empty, cut off, of the wrong shape, refused. What is permanent (a
context that is too long) would fail again."""

_APART = 1_000_000  # between the sample numbers of two attempts; no step takes so many samples
_NOTE = "attempts"


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


def attempts_of(cache: ReplyCache, asked_for: int | None) -> int:
    """How often a call may be made: as the user says, else as the journal was begun.

    A journal with replies but no note was begun when every call was made once; what failed there is not paid for
    again unless the user asks for it.

    Args:
        cache: The journal's replies and notes.
        asked_for: What the user says; None where nothing is said.
    """
    if asked_for is not None:
        return asked_for
    noted = cache.noted(_NOTE)
    if isinstance(noted, int):
        return noted
    return 1 if any(True for _ in cache.replies()) else ATTEMPTS


def note_attempts(cache: ReplyCache, attempts: int) -> None:
    """Keep with the journal how often a call may be made, so that a resumed run does the same."""
    begun = any(True for _ in cache.replies())
    if attempts_of(cache, None) != attempts or (cache.noted(_NOTE) is None and not begun):
        cache.note(_NOTE, attempts)
