"""Shares of a yield: nothing is divided by nothing, and what waits for people is not filtered."""

from __future__ import annotations

import pytest

from construction.report.records import PAPER_TABLE, Stage, StoreYield, Table1


def yield_of(*funnel, steps=None):
    return StoreYield(
        store="s.duckdb",
        funnel=funnel or (Stage(name="questions", total=0, kept=0),),
        reasons=(),
        table=(),
        lengths=(),
        steps=steps or {},
        authors=(),
        spending=(),
        elsewhere=0,
        quality=None,
    )


def test_an_empty_store_has_no_shares():
    empty = yield_of()
    assert (empty.early_percent, empty.filtered_percent) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("stage", "drops", "percent"),
    [
        (Stage(name="questions", total=10, kept=6, unsure=2, surplus=1), 1, 100 / 9),
        (Stage(name="questions", total=10, kept=0, unsure=10), 0, 0.0),
        (Stage(name="questions", total=10, kept=0, surplus=10), 0, 0.0),
        (Stage(name="questions", total=10, kept=0), 10, 100.0),
    ],
    ids=["some of each", "all wait", "all surplus", "none stayed"],
)
def test_filtered_are_those_that_were_wanted_and_came_to_nothing(stage, drops, percent):
    other = Stage(name="prompts", total=999, kept=0)
    assert stage.dropped == drops and yield_of(other, stage).filtered_percent == pytest.approx(percent)


def test_early_cuts_are_a_share_of_prompts_that_say_their_step():
    assert yield_of(steps={1: 1, 2: 2, 9: 1}).early_percent == 25.0
    assert yield_of(steps={2: 5}).early_percent == 0.0


def test_a_yield_survives_json_with_its_steps_as_numbers():
    funnel = yield_of(steps={1: 3}).model_copy(
        update={
            "table": (Table1(change="temporal", cases=1, efficacy=2, specificity=3, paper=PAPER_TABLE["temporal"]),)
        }
    )
    assert StoreYield.model_validate_json(funnel.model_dump_json()) == funnel
