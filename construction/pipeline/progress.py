"""How far a construction is: facts, answers, failures, pauses, rate, spend and time left, in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from construction.llm.cost.budget import Budget
from schemas.text.counting import counted
from schemas.text.status_line import StatusLine, duration

_EVERY = 30.0  # seconds between lines where they cannot be written over


class ConstructionProgress(NamedTuple):
    """How far it is.

    Attributes:
        done: Facts that are finished.
        total: All facts, those that only serve as neighbours among them.
        kept: Questions kept so far.
        calls: Calls sent so far.
    """

    done: int
    total: int
    kept: int
    calls: int


class ProgressDisplay:
    """Shows the progress: written over on a terminal, else a line now and then.

    Args:
        expected: Answers of the whole work, first attempts.
        line: Where to; standard error where left out.
    """

    def __init__(self, expected: int, *, line: StatusLine | None = None) -> None:
        self._expected = expected
        self._line = line or StatusLine(every=_EVERY, at_once=False)
        self._facts: ConstructionProgress | None = None
        self._notes: Callable[[], Iterable[str]] = tuple

    def watch(self, notes: Callable[[], Iterable[str]]) -> None:
        """Ask there what holds calls up, from now on."""
        self._notes = notes

    def facts(self, progress: ConstructionProgress) -> None:
        """Facts were finished."""
        self._facts = progress

    def tick(self, budget: Budget) -> None:
        """Show how things stand, where it is time."""
        self._line.show(lambda: self.text(budget))

    def end(self, budget: Budget) -> None:
        """Show how things stand in the end, where there is something to say."""
        if budget.activity.answers:
            self._line.show(self.text(budget), last=True)

    def text(self, budget: Budget) -> str:
        """The line."""
        return ", ".join(self._parts(budget))

    def _parts(self, budget: Budget) -> Iterator[str]:
        now = budget.activity
        if self._facts is not None:
            yield f"{self._facts.done:,}/{counted(self._facts.total, 'fact')}"
            yield f"{counted(self._facts.kept, 'question')} kept"
        expected = max(self._expected, now.answers)
        yield f"{now.answers:,} of about {counted(expected, 'answer')}"
        rate = now.rate()
        if rate:
            yield f"{rate:,.0f} calls/min"
        yield budget.sentence()
        if rate and now.answers < expected:
            yield f"{duration(60.0 * (expected - now.answers) / rate)} left"
        if now.failed:
            yield f"{now.failed:,} failed"
        if now.waiting:
            yield f"{now.waiting:,} waiting to be asked again"
        if now.repeated:
            yield f"{now.repeated:,} asked again after a passing fault"
        yield from self._notes()
