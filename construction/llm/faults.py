"""What can go wrong with a call, sorted by what to do about it."""

from __future__ import annotations

import random
from typing import Any, Literal, NamedTuple

import openai

from schemas.errors import ModelError

Kind = Literal["transient", "permanent", "refused", "unparseable", "fatal"]
"""``transient``: ask again; ``permanent``: this one never works; ``fatal``: none works until a person acts."""

LONGEST_WAIT = 60.0


class Fault(NamedTuple):
    """A failed call: its kind, what the endpoint said, and the seconds it asked us to wait (None: it did not)."""

    kind: Kind
    message: str
    wait: float | None = None


def sort_fault(error: openai.OpenAIError) -> Fault:
    """The kind of an error that the ``openai`` client raised."""
    if isinstance(error, openai.ContentFilterFinishReasonError):
        return Fault("refused", "the endpoint's content filter stopped the reply")
    if isinstance(error, openai.LengthFinishReasonError):
        return Fault("unparseable", "the reply was cut at the length limit")
    if isinstance(error, openai.APITimeoutError):
        return Fault("transient", "no reply within the time limit")
    if isinstance(error, openai.APIConnectionError):
        return Fault("transient", f"no connection ({_cause(error)})")
    if isinstance(error, openai.APIStatusError):
        return _by_status(error)
    return Fault("permanent", _short(str(error)))


def _by_status(error: openai.APIStatusError) -> Fault:
    status, message = error.status_code, f"HTTP {error.status_code}: {_short(_said(error))}"
    if status in (401, 403, 404, 405) or _code(error) == "insufficient_quota":
        return Fault("fatal", message)
    if status in (408, 409, 425, 429) or status >= 500:
        return Fault("transient", message, _retry_after(error))
    if _code(error) in ("content_filter", "content_policy_violation"):
        return Fault("refused", message)
    return Fault("permanent", message)


def _code(error: openai.APIStatusError) -> str | None:
    return error.code if isinstance(error.code, str) else None


def _said(error: openai.APIStatusError) -> str:
    body: Any = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        text = inner.get("message") if isinstance(inner, dict) else inner
        if isinstance(text, str):
            return text
    return type(error).__name__


def _short(text: str) -> str:
    return " ".join(text.split())[:200]


def _cause(error: BaseException) -> str:
    return _short(str(error.__cause__ or error)) or type(error).__name__


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Seconds of a Retry-After header given in seconds; a date is left to the backoff."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(error.response.headers[name]) / scale
        except (KeyError, ValueError):
            continue
        if seconds >= 0:
            return seconds
    return None


def pause(attempt: int, *, asked: float | None, base: float, jitter: random.Random) -> float:
    """Seconds to wait before attempt ``attempt + 1``: what the endpoint asked for, else doubling from ``base``.

    Jitter keeps many waiting calls from coming back together.

    Example:
        >>> pause(0, asked=2.0, base=1.0, jitter=random.Random(1)) >= 2.0
        True
    """
    if asked is not None:
        return min(asked, LONGEST_WAIT) + jitter.uniform(0, 0.1 * base)
    return min(base * 2.0**attempt, LONGEST_WAIT) * jitter.uniform(0.5, 1.0)


def fatal_error(fault: Fault, *, endpoint: str, model: str, key_name: str) -> ModelError:
    """One sentence for a fault that stops all work."""
    if fault.message.startswith(("HTTP 401", "HTTP 403")):
        return ModelError(
            f"the endpoint refuses the key ({fault.message})",
            where=endpoint,
            fix=f"set the environment variable {key_name} to a valid key, or name another with --api-key-env",
        )
    if fault.message.startswith(("HTTP 404", "HTTP 405")):
        return ModelError(
            f"the endpoint does not know this address or the model '{model}' ({fault.message})",
            where=endpoint,
            fix="check --base-url (it usually ends in /v1) and --model",
        )
    return ModelError(
        f"the endpoint will not answer ({fault.message})",
        where=endpoint,
        fix="mend the account or name another endpoint with --base-url; finished work is kept",
    )


def unreachable(fault: Fault, *, endpoint: str, tries: int) -> ModelError:
    """One sentence for an endpoint that stayed away after every retry."""
    return ModelError(
        f"the endpoint gave no usable answer in {tries} tries: {fault.message}",
        where=endpoint,
        fix="check --base-url and that the server runs, then start again: finished work is kept",
    )
