"""The line that says how far a construction is."""

from __future__ import annotations

import pytest

from construction.llm.cost.budget import Amount, Budget
from construction.llm.reply_cache import ReplyCache
from construction.pipeline.progress import ConstructionProgress, ProgressDisplay
from schemas.text.status_line import StatusLine


@pytest.fixture
def now(monkeypatch):
    seconds = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: seconds[0])
    return seconds


@pytest.fixture
def budget():
    return Budget(ReplyCache(None), max_cost=5.0)


def display(expected=100, *, terminal=False, clock=lambda: 0.0):
    written = []
    line = StatusLine(written.append, terminal=terminal, every=30.0, at_once=False, clock=clock)
    return ProgressDisplay(expected, line=line), written


def test_all_that_holds_the_work_up_is_told(budget, now):
    live, _ = display()
    live.facts(ConstructionProgress(done=70, total=1000, kept=207, calls=9))
    budget.activity.asks()
    for failed in (False, True, False):
        budget.activity.answered(from_endpoint=True, failed=failed)
    budget.activity.waiting, budget.activity.repeated = 3, 9
    budget.now = Amount(1000, 200, 0.42)
    live.watch(lambda: ["m pauses 42 s", "batch: 3/9"])
    now[0] += 60
    assert live.text(budget) == (
        "70/1,000 facts, 207 questions kept, 3 of about 100 answers, 3 calls/min, $0.4200 of $5 and 1,200 tokens "
        "spent, 32 min left, 1 failed, 3 waiting to be asked again, 9 asked again after a passing fault, "
        "m pauses 42 s, batch: 3/9"
    )


def test_more_answers_than_expected_are_no_negative_time(budget, now):
    live, _ = display(expected=1)
    budget.activity.asks()
    now[0] += 5
    for _ in range(3):
        budget.activity.answered(from_endpoint=True)
    assert "3 of about 3 answers, 36 calls/min" in live.text(budget) and "left" not in live.text(budget)


def test_answers_from_the_journal_make_no_rate(budget, now):
    for _ in range(10):
        budget.activity.answered(from_endpoint=False)
    assert budget.activity.rate() is None and budget.activity.answers == 10


@pytest.mark.parametrize("seconds", [0.0, -500.0])
def test_answers_of_one_moment_have_no_rate_and_a_clock_that_steps_back_breaks_nothing(budget, now, seconds):
    budget.activity.asks()
    now[0] += seconds
    for _ in range(3):
        budget.activity.answered(from_endpoint=True)
    assert budget.activity.rate() is None


def test_a_line_comes_now_and_then_and_one_in_the_end(budget, now):
    live, written = display(clock=lambda: now[0])
    for _ in range(70):
        now[0] += 1
        budget.activity.answered(from_endpoint=False)
        live.tick(budget)
    live.end(budget)
    assert len(written) == 3 and written[-1].startswith("70 of about 100 answers") and written[-1].endswith("\n")


def test_a_terminal_has_one_line_however_narrow_it_is(budget, now, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    live, written = display(terminal=True)
    live.facts(ConstructionProgress(done=1, total=1000, kept=3, calls=1))
    budget.activity.answered(from_endpoint=False)
    live.tick(budget)
    live.end(budget)
    assert [text[0] for text in written] == ["\r", "\r", "\n"] and max(map(len, written)) == 40


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_said_of_nothing(budget, terminal):
    live, written = display(terminal=terminal)
    live.end(budget)
    assert written == []
