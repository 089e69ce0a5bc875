from __future__ import annotations

from datetime import date

import pytest

from construction.llm.connection import Access
from construction.llm.cost.prices import Price
from construction.pipeline.cost_estimate import estimate
from construction.pipeline.pipeline import ConstructionPlan, plan_work
from tests.support.facts import make_fact


def test_the_estimate_has_stages_and_dollars(tmp_path):
    facts = [make_fact("Peru", "Lima", "Oslo"), make_fact("Japan", "Tokyo", "Rome")]
    plan = ConstructionPlan(questions=3, neighbours=0)
    work = plan_work(facts, facts, plan)
    price = Price(1.0, 2.0, date(2026, 1, 2))
    table = tmp_path / "prices.toml"
    table.write_text("checked = 2026-01-02\n[models]\nm = { input = 1.0, output = 2.0 }\n")
    cost_estimate = estimate(work, plan, Access(model="m", base_url="http://x/v1", prices=table))
    assert [(s.stage, s.calls) for s in cost_estimate.stages] == [("questions", 2), ("scripts", 2)]
    assert cost_estimate.answers == 4
    assert cost_estimate.cost == pytest.approx(price.cost(cost_estimate.tokens_in, cost_estimate.tokens_out))
    assert (
        "$" in cost_estimate.sentence()
        and "2026-01-02" in cost_estimate.sentence()
        and "--prices" in cost_estimate.sentence()
    )
    unknown = estimate(work, plan, Access(model="qwen")).sentence()
    assert "no price is known for 'qwen'" in unknown and "$0" not in unknown


def test_of_nothing_there_are_not_so_many_times_as_many():
    facts = [make_fact("Peru", "Lima", "Oslo")]
    plan = ConstructionPlan(questions=3, neighbours=0)
    cost_estimate = estimate(plan_work(facts, facts, plan), plan, Access(model="m")).model_copy(update={"attempts": 2})
    assert "up to 2 times as many" in cost_estimate.sentence()
    variant = cost_estimate.model_copy(update={"question_calls": 0, "script_calls": 0, "stages": ()})
    assert "0 calls" in variant.sentence() and "times as many" not in variant.sentence()
