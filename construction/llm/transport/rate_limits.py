"""How fast to ask: token buckets for requests and tokens a minute, and a pause when the endpoint asks for one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


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
