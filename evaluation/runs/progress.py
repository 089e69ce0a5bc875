"""Progress on standard error: a line that rewrites itself on a terminal, now and then a new line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from evaluation.runs.runner import Event

QUIET_SECONDS = 10.0  # between lines where standard error is a file or a pipe


def duration(seconds: float) -> str:
    """Seconds as people say them.

    Example:
        >>> duration(42), duration(200), duration(7300)
        ('42 s', '3 min', '2 h 2 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def line(event: Event) -> str:
    """One line: method, cases, rate, time left, failures.

    Example:
        >>> line(Event("rome", done=4, total=10, found=2, failed=1, seconds=10.0))
        'rome: 4 of 10 cases (2 found finished), 5.0 s a case, 30 s left, 1 failed'
    """
    text = f"{event.label}: {event.done} of {event.total} cases"
    if event.found:
        text += f" ({event.found} found finished)"
    worked = event.done - event.found
    if worked:
        pace = event.seconds / worked
        text += f", {pace:.1f} s a case" if pace >= 0.05 else f", {1 / max(pace, 1e-9):.0f} cases a second"
        if event.done < event.total:
            text += f", {duration(pace * (event.total - event.done))} left"
    if event.note:
        text += f", {event.note} ..."
    if event.failed:
        text += f", {event.failed} failed"
    return text


class Progress:
    """Tells events as lines; call it with every event."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._last = float("-inf")

    def __call__(self, event: Event) -> None:
        """Tell one event, if its time has come."""
        ended = event.done == event.total
        if self._terminal:
            self._stream.write("\r\x1b[K" + line(event) + ("\n" if ended else ""))
            self._stream.flush()
            return
        if ended or time.monotonic() - self._last >= QUIET_SECONDS:
            self._last = time.monotonic()
            self._stream.write(line(event) + "\n")
            self._stream.flush()
