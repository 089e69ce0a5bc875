"""What can go wrong with a call, sorted by what to do about it."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple

import openai

from schemas.core.errors import ModelError

Kind = Literal["transient", "permanent", "refused", "unparseable", "fatal"]
"""``transient``: ask again; ``permanent``: this one never works; ``fatal``: none works until a person acts."""

LONGEST_WAIT = 60.0  # seconds, where the endpoint names no time
_FILTERED = {"content_filter", "content_policy_violation"}
_THIS_REQUEST = {*_FILTERED, "invalid_request_error", "context_length_exceeded"}
PATIENCE = 900.0  # seconds; an endpoint that asks for more (a day's quota is used up) stops the work


class CallError(NamedTuple):
    """A failed call.

    Attributes:
        kind: What to do about it.
        message: What the endpoint said.
        wait: Seconds that it asked us to wait; None: it did not.
        status: HTTP status; None where no reply came.
        named: Parameter that the endpoint names as the cause.
        lost: The endpoint may have done the work, and charge for it, though we have no reply.
    """

    kind: Kind
    message: str
    wait: float | None = None
    status: int | None = None
    named: str | None = None
    lost: bool = False


def classify_error(error: openai.OpenAIError) -> CallError:
    """The kind of an error that the ``openai`` client raised."""
    if isinstance(error, openai.APITimeoutError):
        return CallError("transient", "no reply within the time limit", lost=True)
    if isinstance(error, openai.APIConnectionError):
        never = type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")
        cause = _shorten(str(error.__cause__ or error)) or type(error).__name__
        return CallError("transient", f"no connection ({cause})", lost=not never)
    if isinstance(error, openai.APIStatusError):
        wait = asked_wait(error.response.headers)
        return error_of_status(error.status_code, error.body, wait=wait)
    return CallError("permanent", _shorten(str(error)))


def error_of_status(status: int, body: Any, *, wait: float | None = None) -> CallError:
    """The kind of an error reply, live or a line of a batch.

    Args:
        status: HTTP status.
        body: The decoded body: ``{"error": {...}}``, its inside, or whatever the endpoint sends.
        wait: Seconds that it asked us to wait.
    """
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message") if isinstance(inner, dict) else inner
    code = inner.get("code") if isinstance(inner, dict) else None
    named = inner.get("param") if isinstance(inner, dict) else None
    text = f"HTTP {status}: {_shorten(message) if isinstance(message, str) else 'no reason given'}"
    fault = CallError("permanent", text, status=status, named=named if isinstance(named, str) else None)
    if status in (401, 402, 403, 404, 405) or code == "insufficient_quota":
        return fault._replace(kind="fatal")
    if status in (408, 409, 425, 429) or status >= 500:
        if wait is not None and wait > PATIENCE:
            return fault._replace(kind="fatal", message=f"{text}; it asks to wait {wait / 60:.0f} minutes")
        return fault._replace(kind="transient", wait=wait)
    if code in _FILTERED:
        return fault._replace(kind="refused")
    return fault


def error_in_reply(error: Any) -> CallError:
    """The kind of an error that came with HTTP 200, in place of a reply or of its rest.

    Some gateways answer so when the model behind them fails. A number in ``code`` is read as the status that it stands
    for; without one, the error counts as passing unless its kind says that this request is at fault.

    Args:
        error: What stands under ``error``: an object with ``message`` and ``code``, or a text.

    Example:
        >>> error_in_reply({"message": "Upstream is busy", "code": 429}).kind
        'transient'
        >>> error_in_reply({"message": "Prompt is too long", "type": "invalid_request_error"}).kind
        'permanent'
    """
    inner = error if isinstance(error, dict) else {"message": error if isinstance(error, str) else None}
    code = str(inner.get("code"))
    status = int(code) if re.fullmatch(r"[45]\d\d", code, re.ASCII) else None
    at_fault = {str(inner.get("type")), code} & _THIS_REQUEST
    fault = error_of_status(status or (400 if at_fault else 500), {"error": inner})
    message = inner.get("message")
    reason = _shorten(message) if isinstance(message, str) else "no reason given"
    return fault._replace(message=f"HTTP 200 with an error{f' {status}' if status else ''}: {reason}", status=status)


def _shorten(text: str) -> str:
    return " ".join(text[:2000].split())[:200]


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the headers of a reply ask us to wait.

    ``retry-after-ms``, ``retry-after`` in seconds or as an HTTP date, else ``x-ratelimit-reset-*`` of a limit whose
    remainder is 0.

    Example:
        >>> asked_wait({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2s"})
        62.0
    """
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / scale
        except KeyError:
            continue
        except ValueError:
            seconds = _seconds_until(headers[name]) if name == "retry-after" else -1.0
        if 0 <= seconds < float("inf"):
            return seconds
    resets = [
        _duration(headers.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}", "").strip() == "0"
    ]
    return max((r for r in resets if r is not None), default=None)


def _seconds_until(date: str) -> float:
    """Seconds until an HTTP date, 0 where it is past, -1 where it is no date."""
    try:
        then = parsedate_to_datetime(date)
    except (ValueError, TypeError):
        return -1.0
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


def _duration(text: str) -> float | None:
    """Seconds of a duration such as ``6m0s`` or ``120ms``."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text)
    if not parts or "".join(n + unit for n, unit in parts) != text.strip():
        return None
    return sum(float(n) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[unit] for n, unit in parts)


def pause(attempt: int, *, retry_after: float | None, base: float, jitter: random.Random) -> float:
    """Seconds to wait before attempt ``attempt + 1``: what the endpoint asked for, else doubling from ``base``.

    Jitter keeps many waiting calls from coming back together.

    Example:
        >>> pause(0, retry_after=2.0, base=1.0, jitter=random.Random(1)) >= 2.0
        True
    """
    if retry_after is not None:
        return min(retry_after, PATIENCE) + jitter.uniform(0, 0.1 * base)
    return min(base * 2.0 ** min(attempt, 30), LONGEST_WAIT) * jitter.uniform(0.5, 1.0)


def fatal_error(fault: CallError, *, endpoint: str, model: str, key_name: str) -> ModelError:
    """One sentence for a fault that stops all work."""
    if fault.status in (401, 403):
        return ModelError(
            f"the endpoint refuses the key ({fault.message})",
            where=endpoint,
            fix=f"set the environment variable {key_name} to a valid key, or name another with --api-key-env",
        )
    if fault.status in (404, 405):
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


def unreachable(fault: CallError, *, endpoint: str, tries: int) -> ModelError:
    """One sentence for an endpoint that stayed away after every retry."""
    return ModelError(
        f"the endpoint gave no usable answer in {tries} tries: {fault.message}",
        where=endpoint,
        fix="check --base-url and that the server runs, then start again: finished work is kept",
    )
