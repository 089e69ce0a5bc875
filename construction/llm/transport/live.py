"""The way to the endpoint: one call at a time for each of many, through the ``openai`` package."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import openai
from typing_extensions import override

from construction.llm.call_errors import CallError, classify_error
from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN
from construction.llm.replies import outcome_of
from construction.llm.reply_cache import StoredOutcome
from construction.llm.transport.secrets import Mask
from schemas.text.counting import counted
from schemas.text.status_line import duration


class Bucket:
    """A token bucket that never lets more than ``per_minute`` pass in any 60 seconds.

    A tenth of the rate may pass at once, the rest comes evenly; so the sum over any minute keeps the limit. An amount
    above the bucket's size waits until the debt it makes is paid.

    Args:
        per_minute: The limit.
        clock: Seconds; replaced in tests.

    Example:
        >>> bucket = Bucket(60, clock=lambda: 0.0)
        >>> [bucket.take(3), bucket.take(3), round(bucket.take(1), 2)]
        [0.0, 0.0, 1.11]
    """

    def __init__(self, per_minute: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = max(1.0, per_minute / 10)
        self._rate = max(per_minute - self._size, min(per_minute, 1.0)) / 60.0
        self._level, self._at, self._clock = self._size, clock(), clock

    def take(self, amount: float) -> float:
        """Take an amount; returns the seconds to wait before it may be used. First come, first served."""
        self._fill()
        self._level -= amount
        return max(0.0, -self._level / self._rate)

    def give(self, amount: float) -> None:
        """Correct an earlier take by what was not used (or, negative, used beyond it)."""
        self._fill()
        self._level = min(self._size, self._level + amount)

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._at) * self._rate)
        self._at = now


class Throttle:
    """Shared by all live calls: how many at once, how fast, and a common pause when the endpoint asks for one.

    Args:
        max_in_flight: Calls in flight at once.
        rpm: Requests a minute at most.
        tpm: Tokens a minute at most, prompt and reply together.
    """

    def __init__(self, max_in_flight: int, *, rpm: float | None = None, tpm: float | None = None) -> None:
        self.slot = asyncio.Semaphore(max_in_flight)
        self._requests = Bucket(rpm) if rpm else None
        self._tokens = Bucket(tpm) if tpm else None
        self._pause_until = float("-inf")

    @property
    def pause(self) -> float:
        """Seconds for which all calls still pause; 0 where they do not."""
        return max(0.0, self._pause_until - time.monotonic())

    async def may_send(self, tokens: float) -> None:
        """Wait for the buckets and for a common pause; called once before each attempt."""
        wait = self._requests.take(1) if self._requests else 0.0
        if self._tokens:
            wait = max(wait, self._tokens.take(tokens))
        if wait > 0:
            await asyncio.sleep(wait)
        while (left := self.pause) > 0:
            await asyncio.sleep(left)

    def used(self, expected: float, tokens: float) -> None:
        """Correct the token bucket once the endpoint has counted."""
        if self._tokens:
            self._tokens.give(expected - tokens)

    def limited(self, wait: float | None) -> None:
        """The endpoint said 429: all calls pause as long as it asks."""
        if wait:
            self._pause_until = max(self._pause_until, time.monotonic() + wait)


logger = logging.getLogger(__name__)

SLOW = 5.0  # seconds without a reply after which the progress line says that calls wait for one
_USUAL_REPLY = 200  # tokens expected of a reply without a limit; corrected when the endpoint has counted


class Transport:
    """A way to send calls: live, or in batches.

    Attributes:
        calls: Calls sent by this process.
        repeats: Whether a failed call waits before it goes again (a batch is slow enough by itself).
    """

    calls = 0
    repeats = True

    def slot(self) -> AbstractAsyncContextManager[None]:
        """A place among the calls in flight; all may wait at once."""
        return nullcontext()

    def waiting(self, key: str) -> bool:
        """Whether an earlier run has sent this call and its reply is still to be collected."""
        return False

    def held_up(self) -> str:
        """What its calls wait for besides replies."""
        return ""

    async def send(self, key: str, body: dict[str, Any]) -> StoredOutcome | CallError:
        """Send one call and wait for what comes of it."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop whatever goes on in the background."""


class LiveTransport(Transport):
    """Sends each call at once.

    Args:
        client: The ``openai`` client; it must not retry.
        throttle: How fast.
        mask: Takes secrets out of what comes back.
        timeout: Seconds until a call is given up, however slowly bytes drip in.
    """

    def __init__(self, client: openai.AsyncOpenAI, *, throttle: Throttle, mask: Mask, timeout: float) -> None:
        self._client, self._throttle, self._mask, self._timeout = client, throttle, mask, timeout
        self._sent: dict[str, float] = {}  # calls whose reply is awaited, the oldest first, and when they were sent

    @override
    def slot(self) -> AbstractAsyncContextManager[None]:
        return self._throttle.slot

    @override
    def held_up(self) -> str:
        if (seconds := self._throttle.pause) >= 1:
            return f"pauses {duration(seconds)}"
        oldest = time.monotonic() - next(iter(self._sent.values()), float("inf"))
        if oldest < SLOW:
            return ""
        return f"has {counted(len(self._sent), 'reply', 'replies')} to send, the oldest call since {duration(oldest)}"

    @override
    async def send(self, key: str, body: dict[str, Any]) -> StoredOutcome | CallError:
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or _USUAL_REPLY
        prompt = sum(len(m["content"]) for m in body["messages"]) / CHARACTERS_PER_TOKEN
        expected = prompt + min(limit, _USUAL_REPLY)
        await self._throttle.may_send(expected)
        self.calls += 1
        self._sent[key] = time.monotonic()
        try:
            outcome = await self._post(body)
        finally:
            del self._sent[key]
        if isinstance(outcome, StoredOutcome):
            counted = (outcome.tokens_in or 0) + (outcome.tokens_out or 0)
            self._throttle.used(expected, counted or expected)
            return outcome
        self._throttle.used(expected, expected if outcome.lost else 0)
        if outcome.status == 429:
            self._throttle.limited(outcome.wait)
        return outcome

    async def _post(self, body: dict[str, Any]) -> StoredOutcome | CallError:
        try:
            async with asyncio.timeout(self._timeout):
                text = await self._client.post("/chat/completions", body=body, cast_to=str)
        except TimeoutError:
            return CallError("transient", "no reply within the time limit", lost=True)
        except openai.OpenAIError as error:
            return mask_outcome(classify_error(error), self._mask)
        return mask_outcome(outcome_of(text), self._mask)


def mask_outcome(outcome: StoredOutcome | CallError, mask: Mask) -> StoredOutcome | CallError:
    """An outcome without secrets, which some endpoints quote back."""
    if isinstance(outcome, CallError):
        return outcome._replace(message=mask(outcome.message))
    changes = {
        name: mask(value)
        for name in ("raw", "message", "finish", "served", "fingerprint", "thought")
        if isinstance(value := getattr(outcome, name), str) and mask(value) != value
    }
    return outcome.model_copy(update=changes) if changes else outcome
