"""The line that says how far a construction is: rate, spend, tokens, time left."""

from __future__ import annotations

import time
from collections.abc import Callable

from construction.llm.cost.budget import Budget
from construction.pipeline.pipeline import ConstructionProgress
from schemas.text.status_line import StatusLine, duration

_PLAIN = 30.0  # seconds between lines where they cannot be written over


class ProgressLine:
    """Writes the line: over itself on a terminal, else now and then.

    Args:
        write: Takes text, without a newline of its own.
        expected: Calls of the whole work, first attempts.
        terminal: Whether a line can be written over.
        clock: Seconds; replaced in tests.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        expected: int,
        terminal: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._line = StatusLine(write, terminal=terminal, every=_PLAIN, at_once=False, clock=clock)
        self._expected = expected
        self._progress: ConstructionProgress | None = None

    def facts(self, progress: ConstructionProgress) -> None:
        """Facts were finished."""
        self._progress = progress

    def tick(self, budget: Budget, status: str = "") -> None:
        """Show the line, where it is time."""
        self._line.show(lambda: self.line(budget, status))

    def end(self, budget: Budget) -> None:
        """Show the last line, where there is something to say."""
        if budget.answers or self._line.is_open:
            self._line.show(self.line(budget), last=True)

    def line(self, budget: Budget, status: str = "") -> str:
        """The line as it stands."""
        parts = []
        if self._progress is not None:
            p = self._progress
            parts.append(f"{p.done}/{p.total} facts, {p.kept} questions kept")
        parts.append(f"{budget.answers:,} of about {max(self._expected, budget.answers):,} answers")
        rate = budget.rate()
        if rate is not None:
            parts.append(f"{rate:,.0f} calls/min")
        parts.append(budget.sentence())
        left = self._expected - budget.answers
        if rate and left > 0:
            parts.append(f"{duration(60.0 * left / rate)} left")
        return ", ".join([*parts, status] if status else parts)
