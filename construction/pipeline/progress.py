"""How far a construction is: facts, answers, failures, pauses, rate, spend and time left, for every model.

On a terminal the display is redrawn in place and fits its width; elsewhere a line is written now and then.
"""

from __future__ import annotations

import io
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from construction.llm.calls.activity import ModelProgress
from construction.llm.cost.budget import Budget
from schemas.text.counting import counted
from schemas.text.escaping import drawing_stream, escape_line
from schemas.text.status_line import StatusLine, duration

_PLAIN = 30.0  # seconds between lines where they cannot be redrawn
_REPEATED = "{:,} asked again after a passing fault"


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


class AnsweredFacts(NamedTuple):
    """Facts that need no more calls, whether they are stored yet or not.

    Attributes:
        facts: How many there are.
        answers: Requests that were answered for them, by model.
    """

    facts: int
    answers: Mapping[str, int]


class ProgressDisplay:
    """Shows the progress: redrawn in place on a terminal, else as a line now and then.

    Args:
        console: Where to; standard error where left out.
        expected: Calls of the whole work by model, first attempts.
        clock: Seconds; replaced in tests.
    """

    def __init__(
        self,
        console: Console | None = None,
        *,
        expected: Mapping[str, int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or _standard_error()
        self._expected = dict(expected)
        self._line = StatusLine(self._write, terminal=False, every=_PLAIN, at_once=False, clock=clock)
        self._live: Live | None = None
        self._logs: dict[logging.StreamHandler[Any], Any] = {}
        self._facts: ConstructionProgress | None = None
        self._models: Callable[[], Sequence[ModelProgress]] = tuple
        self._answered = _none_answered

    def watch(self, models: Callable[[], Sequence[ModelProgress]]) -> None:
        """Ask there how far the models are, from now on."""
        self._models = models

    def follow(self, answered: Callable[[], AnsweredFacts]) -> None:
        """Ask there which facts need no more calls, from now on."""
        self._answered = answered

    def facts(self, progress: ConstructionProgress) -> None:
        """Facts were finished."""
        self._facts = progress

    def _calls_of(self, model: str) -> int:
        """Answers of the whole work: as planned, in the measure in which finished facts took more or fewer.

        The plan itself weighs as much as one fact, so that the first one finished does not decide alone.
        """
        calls, (facts, answers) = self._expected.get(model, 0), self._answered()
        total = self._facts.total if self._facts is not None else 0
        if not 0 < facts <= total:
            return calls
        share = facts / total
        part = calls * share
        weight = part / facts * (1 - share)
        return round(calls * (answers.get(model, 0) + weight) / (part + weight)) if part else calls

    def tick(self, budget: Budget) -> None:
        """Show how things stand, where it is time."""
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            if self._live is None:
                self._live = Live(
                    console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
                )
                self._live.start()
                self._logs = _logs_above(self._console)
            self._live.update(self.display(budget), refresh=True)
        else:
            self._line.show(lambda: self.line(budget))

    def end(self, budget: Budget) -> None:
        """Show how things stand in the end, where there is something to say."""
        if self._live is not None:
            self._live.update(self.display(budget), refresh=True)
            self._live.stop()
            self._live = None
            for handler, stream in self._logs.items():
                handler.setStream(stream)
            self._logs = {}
        elif budget.answers:
            if self._console.is_terminal:
                self._console.print(self.display(budget))
            else:
                self._line.show(self.line(budget), last=True)

    def display(self, budget: Budget) -> RenderableType:
        """What a terminal shows."""
        parts: list[RenderableType] = []
        if self._facts is not None:
            bar = Table.grid(expand=True)  # a bar by itself ends no line
            bar.add_row(ProgressBar(total=max(1, self._facts.total), completed=self._facts.done))
            parts.append(bar)
        parts.append(Text(", ".join(self._head(budget))))
        return Group(*parts, *(Text(self._sentence(model)) for model in self._models()))

    def line(self, budget: Budget) -> str:
        """What stands in a log."""
        models = self._models()
        parts = list(self._head(budget))
        failed, waiting = sum(m.failed for m in models), sum(m.waiting for m in models)
        repeated = sum(m.repeated for m in models)
        parts += [f"{failed:,} failed"] if failed else []
        parts += [f"{waiting:,} waiting to be asked again"] if waiting else []
        parts += [_REPEATED.format(repeated)] if repeated else []
        parts += [f"{escape_line(m.model)} pauses {duration(m.pause)}" for m in models if m.pause >= 1]
        parts += [f"{m.speed:,.1f} tokens/s" for m in models if m.speed is not None and len(models) == 1]
        parts += [m.status for m in models if m.status]
        if len(models) > 1:
            parts += [self._sentence(m) for m in models]
        return ", ".join(parts)

    def _head(self, budget: Budget) -> Iterator[str]:
        """Facts, answers, rate, spend and time left of the whole work."""
        if self._facts is not None:
            facts = f"{self._facts.done:,}/{counted(self._facts.total, 'fact')}"
            yield f"{facts}, {counted(self._facts.kept, 'question')} kept"
        answers = max(sum(map(self._calls_of, self._expected)), budget.answers)
        yield f"{budget.answers:,} of about {counted(answers, 'answer')}"
        rate = budget.rate()
        if rate is not None:
            yield f"{rate:,.0f} calls/min"
        yield budget.sentence()
        left = [self._seconds_left(m) for m in self._models() if m.answers < self._calls_of(m.model)]
        known = [seconds for seconds in left if seconds is not None]
        if known and len(known) == len(left):  # the slowest decides, and of one nobody knows how slow it is
            yield f"{duration(max(known))} left"

    def _seconds_left(self, model: ModelProgress) -> float | None:
        """Seconds until the model has answered all; None where nobody can tell, or nothing is left."""
        left = self._calls_of(model.model) - model.answers
        return model.pause + 60.0 * left / model.rate if model.rate and left > 0 else None

    def _sentence(self, model: ModelProgress) -> str:
        """How far one model is."""
        expected, seconds = self._calls_of(model.model), self._seconds_left(model)
        several = len(self._models()) > 1  # of one alone the first line says what was spent
        parts = [
            f"{model.answers:,} of {max(expected, model.answers):,} answers",
            f"{model.failed:,} failed" if model.failed else "",
            f"{model.rate:,.0f} a minute" if model.rate is not None else "",
            f"{duration(seconds)} left" if seconds is not None else "",
            f"${model.cost:.4f}" if several and model.cost else "",
            counted(model.tokens, "token") if several and model.tokens else "",
            f"pauses {duration(model.pause)}" if model.pause >= 1 else "",
            f"{model.speed:,.1f} tokens/s" if model.speed is not None else "",
            f"{model.waiting:,} waiting to be asked again" if model.waiting else "",
            _REPEATED.format(model.repeated) if model.repeated else "",
            model.status,
        ]
        return f"{escape_line(model.model, longest=60)}: {', '.join(filter(None, parts))}"

    def _write(self, text: str) -> None:
        self._console.file.write(text)
        self._console.file.flush()


def _none_answered() -> AnsweredFacts:
    return AnsweredFacts(0, {})


class _AboveDisplay(io.TextIOBase):
    """A stream whose lines a console prints above what it redraws in place."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, text: str) -> int:
        """Print whole lines; nothing of them is taken for markup."""
        if lines := text.rstrip("\n"):
            self._console.print(Text("\n".join(escape_line(line) for line in lines.split("\n"))))
        return len(text)


def _logs_above(console: Console) -> dict[logging.StreamHandler[Any], Any]:
    """Have what is logged to this terminal printed above the display; the handlers with the streams that they had."""
    handlers = [h for h in logging.getLogger().handlers if isinstance(h, logging.StreamHandler)]
    streams = {h: h.stream for h in handlers if drawing_stream(h.stream) is console.file}
    for handler in streams:
        handler.setStream(_AboveDisplay(console))
    return streams


def _standard_error() -> Console:
    """A console that may move the cursor; what it is given to show is escaped before."""
    stream = drawing_stream(sys.stderr)
    return Console(file=stream, force_terminal=stream.isatty(), highlight=False)
