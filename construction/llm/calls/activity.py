"""What a model's calls are doing right now, for whoever shows progress: answers, failures, rate, waiting."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

_RECENT = 60.0  # seconds over which the rate is taken
_FEWEST = 4  # answers that it is taken over at least: a slow model gives fewer a minute


class Activity:
    """Counts of this run.

    Attributes:
        answers: Requests that have an outcome, from the journal or the endpoint.
        failed: Those of them whose outcome brings nothing: refused, unusable, failed for good.
        waiting: Calls that wait to be sent again after a passing fault.
        repeated: Times that a call was sent again for that reason.
        tokens: Tokens that calls of this run took, in and out.
        cost: US dollars that they cost, where a price is known.
    """

    def __init__(self) -> None:
        self.answers = self.failed = self.waiting = self.repeated = self.tokens = 0
        self.cost = 0.0
        self._recent: deque[tuple[float, int]] = deque()
        self._calls, self._begun = 0, 0.0

    def asks(self) -> None:
        """A call is about to be sent; the first one begins the time over which the rate is taken."""
        self._begun = self._begun or time.monotonic()

    def answered(self, *, from_endpoint: bool, failed: bool = False, tokens: int = 0) -> None:
        """Count an outcome; ``from_endpoint``, or from the journal; ``tokens`` that were written for it."""
        self.answers += 1
        self.failed += failed
        if from_endpoint:
            self.asks()
            now = time.monotonic()
            self._calls += 1
            self._recent.append((now, tokens))
            while len(self._recent) > _FEWEST and self._recent[0][0] < now - _RECENT:
                self._recent.popleft()

    def spent(self, tokens_in: int, tokens_out: int, cost: float) -> None:
        """Add what a call took."""
        self.tokens += tokens_in + tokens_out
        self.cost += cost

    def rate(self) -> float | None:
        """Answers of the endpoint a minute, over the last minute or the last few; None before there are some."""
        span = self._span()
        return 60.0 * len(self._recent) / span if span else None

    def speed(self) -> float | None:
        """Tokens that the endpoint writes a second, over the same time; None where it counts none."""
        span, tokens = self._span(), sum(n for _, n in self._recent)
        return tokens / span if span and tokens else None

    def _span(self) -> float | None:
        """Seconds over which the recent answers came; None before there are two."""
        if len(self._recent) < 2:
            return None
        first = self._begun if self._calls == len(self._recent) else self._recent[0][0]
        return max(0.0, time.monotonic() - first) or None


class ModelProgress(NamedTuple):
    """How far the calls of one model are.

    Attributes:
        model: Its name.
        answers: Requests that have an outcome.
        failed: Those that brought nothing.
        rate: Answers of the endpoint a minute; None before there are some.
        waiting: Calls that wait to be sent again.
        repeated: Times that calls were sent again after a passing fault, such as a time limit.
        pause: Seconds for which all calls pause because the endpoint asked for it.
        status: What its batches do; empty for live calls.
        speed: Tokens that a model on this machine writes a second; None for others.
        tokens: Tokens that its calls took, in and out, in this run.
        cost: US dollars that they cost, where a price is known.
    """

    model: str
    answers: int
    failed: int = 0
    rate: float | None = None
    waiting: int = 0
    repeated: int = 0
    pause: float = 0.0
    status: str = ""
    speed: float | None = None
    tokens: int = 0
    cost: float = 0.0
