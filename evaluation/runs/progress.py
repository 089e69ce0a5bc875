"""The progress of a run on standard error: one line a method."""

from __future__ import annotations

from evaluation.runs.runner import EditorProgress
from schemas.text.counting import counted
from schemas.text.status_line import StatusLine, duration


def line(event: EditorProgress) -> str:
    """One line: method, cases, rate, time left, failures.

    Example:
        >>> line(EditorProgress("rome", done=4, total=10, resumed=2, failed=1, seconds=10.0))
        'rome: 4 of 10 cases (2 found finished), 5.0 s a case, 30 s left, 1 failed'
    """
    text = f"{event.label}: {event.done:,} of {counted(event.total, 'case')}"
    if event.resumed:
        text += f" ({event.resumed} found finished)"
    worked = event.done - event.resumed
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

    def __init__(self) -> None:
        self._line = StatusLine()

    def __call__(self, event: EditorProgress) -> None:
        """Tell one event, if its time has come."""
        self._line.show(lambda: line(event), last=event.done == event.total)
