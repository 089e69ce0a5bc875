"""Progress of a run: counts of a method's cases, and the line that reports them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from evaluation.engines.base import JobResult
from schemas.runs import CaseResult
from schemas.text.counting import counted
from schemas.text.status_line import StatusLine, duration

ENOUGH_TO_JUDGE = 10  # cases before a failure rate means anything


class EditorProgress(NamedTuple):
    """Progress of one editor: cases finished in all, of them found finished, of them failed; seconds spent on them.

    ``note`` says what goes on where it is not a case, ``least_left`` how many seconds are left for it, where known.
    """

    label: str
    done: int
    total: int
    resumed: int
    failed: int
    seconds: float
    note: str = ""
    least_left: float = 0.0


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
    pace = event.seconds / worked if worked else 0.0
    if worked:
        text += f", {pace:.1f} s a case" if pace >= 0.05 else ", under 0.1 s a case"
    if event.done < event.total and (worked or event.least_left):
        text += f", {duration(max(pace * (event.total - event.done), event.least_left))} left"
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


class RowCounts:
    """Counts a row's finished, computed and failed cases, and reports its progress."""

    def __init__(self, name: str, on_event: Callable[[EditorProgress], None], total: int, max_failures: float) -> None:
        self._name, self._on_event, self._total, self._max_failures = name, on_event, total, max_failures
        self.computed = self.resumed = self.failed = 0
        self.stopped: str | None = None
        self._start = self._busy = self._seconds = self._least_left = 0.0

    def begin(self, failed: int, resumed: int) -> None:
        """Count what earlier sessions finished."""
        self.failed, self.resumed = failed, resumed
        todo = resumed < self._total
        self.stopped = self._too_many() if todo else None
        self.show("preparing" if todo else "")
        self._start = time.perf_counter()

    def count(self, result: CaseResult, done: JobResult) -> bool:
        """Count a computed unit; whether the method is to be stopped because too many cases failed."""
        self.computed += 1
        self.failed += result.error is not None
        self._busy += done.seconds_edit + done.seconds_score
        # Cases made together are reported one after the other, when the time of all of them has been spent.
        spent = time.perf_counter() - self._start
        self._seconds = min(spent, self._busy) if self._busy else spent
        self.show()
        if self.resumed + self.computed < self._total:
            self.stopped = self._too_many()
        return self.stopped is not None

    def show(self, note: str = "") -> None:
        """Report how far the row is, and what is done at the moment."""
        done = self.resumed + self.computed
        counts = (done, self._total, self.resumed, self.failed)
        self._on_event(EditorProgress(self._name, *counts, self._seconds, note, self._least_left))

    def stage(self, note: str, seconds: float) -> None:
        """Report what is done before the next case comes, and the seconds that it will take."""
        self._least_left = seconds
        self.show(note)

    def _too_many(self) -> str | None:
        done = self.resumed + self.computed
        if done < ENOUGH_TO_JUDGE or self.failed <= self._max_failures * done:
            return None
        return f"{self.failed:,} of {counted(done, 'case')} failed"
