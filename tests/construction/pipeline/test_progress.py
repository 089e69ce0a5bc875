"""The progress line, the estimate in dollars, and the options that every asking command has."""

from __future__ import annotations

import pytest

from construction.llm.cost.budget import Amount, Budget
from construction.llm.reply_cache import ReplyCache
from construction.pipeline.pipeline import ConstructionProgress
from construction.pipeline.progress import ProgressLine
from curation.files.journal import Journal


@pytest.fixture
def budget(tmp_path):
    with Journal(tmp_path / "j", write=True) as journal:
        yield Budget(ReplyCache(journal), max_cost=5.0)


@pytest.mark.parametrize("terminal", [True, False])
def test_the_line_says_rate_spend_and_time_left(budget, terminal, monkeypatch):
    now, said = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    live = ProgressLine(said.append, expected=100, terminal=terminal, clock=lambda: now[0])
    live.tick(budget)
    for _ in range(20):
        now[0] += 0.5
        budget.answered(asked=True)
    budget.settle("k", Amount(1000, 200, 0.42))
    live.facts(ConstructionProgress(done=3, total=25, kept=8, calls=20))
    now[0] += 30
    live.tick(budget, "batch: 3/9")
    live.end(budget)
    text = "".join(said)
    for words in (
        "3/25 facts",
        "8 questions kept",
        "20 of about 100 answers",
        "calls/min",
        "$0.4200 of $5",
        "batch: 3/9",
    ):
        assert words in text, words
    assert " left" in text and text.endswith("\n") and ("\r" in text) == terminal
    if not terminal:
        assert len(said) == 2  # one when it was time, one at the end


def test_nothing_is_said_of_nothing(budget):
    said = []
    live = ProgressLine(said.append, expected=0, terminal=False)
    live.end(budget)
    assert said == []


def test_a_terminal_line_is_written_over_whole(budget):
    said = []
    live = ProgressLine(said.append, expected=10, terminal=True)
    live.facts(ConstructionProgress(done=1, total=2, kept=100_000, calls=1))
    live.tick(budget)
    live.facts(ConstructionProgress(done=1, total=2, kept=1, calls=1))
    live.tick(budget)
    assert len(said[1]) >= len(said[0])


def test_calls_from_the_journal_do_not_make_the_rate(budget):
    for _ in range(10):
        budget.answered(asked=False)
    assert budget.rate() is None and budget.answers == 10
