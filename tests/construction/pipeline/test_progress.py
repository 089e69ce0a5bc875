"""The progress line, the estimate in dollars, and the options that every asking command has."""

from __future__ import annotations

import json
from datetime import date

import click
import pytest
from click.testing import CliRunner

from construction.llm.cli_options import model_options
from construction.llm.cost.budget import Amount, Budget
from construction.llm.cost.prices import Price
from construction.llm.reply_cache import ReplyCache
from construction.pipeline.cost_estimate import estimate, expected_calls
from construction.pipeline.pipeline import ConstructionPlan, ConstructionProgress, plan_work
from construction.pipeline.progress import ProgressLine
from curation.files.journal import Journal
from tests.support.facts import make_fact


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


def test_the_estimate_has_stages_and_dollars():
    facts = [make_fact("Peru", "Lima", "Oslo"), make_fact("Japan", "Tokyo", "Rome")]
    plan = ConstructionPlan(questions=3, neighbours=0)
    work = plan_work(facts, facts, plan)
    price = Price(1.0, 2.0, date(2026, 1, 2))
    found = estimate(work, plan, price=price, model="m")
    assert [(s.stage, s.calls) for s in found.stages] == [("questions", 2), ("scripts", 6)]
    assert expected_calls(work, plan) == 8
    assert found.cost == pytest.approx(price.cost(found.tokens_in, found.tokens_out))
    assert "$" in found.sentence() and "2026-01-02" in found.sentence() and "--prices" in found.sentence()
    unknown = estimate(work, plan, model="qwen").sentence()
    assert "no price is known for 'qwen'" in unknown and "$0" not in unknown


def test_every_asking_command_gets_one_access():
    @click.command()
    @click.option("--other", default=1)
    @model_options
    def ask(access, other):
        click.echo(json.dumps([access.model, access.rpm, access.max_cost, access.batch, access.key_name, other]))

    done = CliRunner().invoke(ask, ["--model", "m", "--rpm", "60", "--max-cost", "2", "--batch", "--other", "7"])
    assert json.loads(done.output) == ["m", 60.0, 2.0, True, "OPENAI_API_KEY", 7]
    assert CliRunner().invoke(ask, ["--rpm", "0"]).exit_code == 2
