"""What the calls of a run are doing right now, for whoever shows progress: answers, failures, rate, waiting."""

from __future__ import annotations

import time


class Activity:
    """Counts of this run.

    Attributes:
        answers: Requests that have an outcome, from the journal or the endpoint.
        failed: Those of them whose outcome brings nothing: refused, unusable, failed for good.
        waiting: Calls that wait to be sent again after a passing fault.
        repeated: Times that a call was sent again for that reason.
    """

    def __init__(self) -> None:
        self.answers = self.failed = self.waiting = self.repeated = 0
        self._from_endpoint, self._begun = 0, 0.0

    def asks(self) -> None:
        """A call is about to be sent; the first one begins the time over which the rate is taken."""
        self._begun = self._begun or time.monotonic()

    def answered(self, *, from_endpoint: bool, failed: bool = False) -> None:
        """Count an outcome; ``from_endpoint``, or from the journal."""
        self.answers += 1
        self.failed += failed
        self._from_endpoint += from_endpoint

    def rate(self) -> float | None:
        """Answers of the endpoints a minute since the first call; None before there are two."""
        seconds = time.monotonic() - self._begun
        return 60.0 * self._from_endpoint / seconds if self._from_endpoint > 1 and seconds > 0 else None
