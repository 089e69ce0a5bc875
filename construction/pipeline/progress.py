"""The line that says how far a construction is: rate, spend, tokens, time left."""

from __future__ import annotations

import time
from collections.abc import Callable

from construction.llm.cost.budget import Budget
from construction.pipeline.pipeline import ConstructionProgress

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
        self._write, self._expected, self._terminal, self._clock = write, expected, terminal, clock
        self._progress: ConstructionProgress | None = None
        self._last = clock()
        self._width = 0

    def facts(self, progress: ConstructionProgress) -> None:
        """Facts were finished."""
        self._progress = progress

    def tick(self, budget: Budget, status: str = "") -> None:
        """Show the line, where it is time."""
        now = self._clock()
        if self._terminal:
            text = self.line(budget, status)
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)
        elif now - self._last >= _PLAIN:
            self._write(self.line(budget, status) + "\n")
            self._last = now

    def end(self, budget: Budget) -> None:
        """Show the last line."""
        if self._terminal and (budget.answers or self._width):
            self.tick(budget)
            self._write("\n")
        elif budget.answers:
            self._write(self.line(budget) + "\n")

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
            parts.append(f"{_span(60.0 * left / rate)} left")
        return ", ".join([*parts, status] if status else parts)


def _span(seconds: float) -> str:
    """A time in words.

    Example:
        >>> [_span(40), _span(90), _span(7300)]
        ['40 s', '2 min', '2 h 2 min']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
