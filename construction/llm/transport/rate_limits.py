"""How fast to ask: token buckets for requests and tokens a minute, and giving way when the endpoint says so."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


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

    After a 429 the number of calls at once is halved; it grows back by one for every that many good replies.

    Args:
        max_in_flight: Calls in flight at once.
        rpm: Requests a minute at most.
        tpm: Tokens a minute at most, prompt and reply together.
    """

    def __init__(self, max_in_flight: int, *, rpm: float | None = None, tpm: float | None = None) -> None:
        self._max_in_flight, self._limit, self._flying = max_in_flight, float(max_in_flight), 0
        self._requests = Bucket(rpm) if rpm else None
        self._tokens = Bucket(tpm) if tpm else None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._pause_until = self._halved = float("-inf")

    @property
    def limit(self) -> int:
        """Calls at once, as things stand."""
        return max(1, int(self._limit))

    @property
    def pause(self) -> float:
        """Seconds for which all calls still pause; 0 where they do not."""
        return max(0.0, self._pause_until - time.monotonic())

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A place among the calls in flight."""
        while self._flying >= self.limit:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()
                raise
        self._flying += 1
        try:
            yield
        finally:
            self._flying -= 1
            self._wake()

    def _wake(self) -> None:
        free = self.limit - self._flying
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

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
        """The endpoint said 429: all calls pause as long as it asks, and fewer go at once."""
        now = time.monotonic()
        if wait:
            self._pause_until = max(self._pause_until, now + wait)
        if now - self._halved > 1.0:  # the replies of one burst count once
            self._halved, self._limit = now, max(1.0, self._limit / 2)

    def fine(self) -> None:
        """A good reply came."""
        if self._limit < self._max_in_flight:
            self._limit = min(float(self._max_in_flight), self._limit + 1.0 / self._limit)
            self._wake()
