"""NS by hand: the old object stays ahead, a tie is not kept."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from tests.support.arithmetic import make_case
from tests.support.metrics.token_scores import scored


def test_ns_takes_the_sources_prompts_and_linked_facts_once():
    case = make_case("Peru")
    linked = case.neighbours[0].fact.fact_prompt
    fact = case.fact.model_copy(update={"neighbour_prompts": ("The capital of Wales is", linked)})
    probes = METRICS.get("ns")().probes(case.model_copy(update={"fact": fact}))
    assert [p.prompt for p in probes] == ["The capital of Wales is", linked]
    assert all(p.targets == ("Oslo", "Lima") for p in probes)


def test_ns_leaves_near_subjects_out():
    assert METRICS.get("ns")().probes(make_case("Club", change="temporal")) == []


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        pytest.param([(-1.0, -2.0)], 0.0, id="new ahead is a loss"),
        pytest.param([(-3.0, -2.0)], 1.0, id="old kept"),
        pytest.param([(-2.0, -2.0)], 0.0, id="a tie is not kept"),
    ],
)
def test_by_hand(values, mean):
    assert scored("ns", make_case("Peru"), values).mean == mean
