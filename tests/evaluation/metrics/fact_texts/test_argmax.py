"""ES-argmax by hand: shares of tokens, never zeros for what was not read."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from schemas.answers import Answer, TargetScore
from tests.support.arithmetic import make_case

HAND = [
    pytest.param(TargetScore(text="Oslo", logprob=-1, tokens=4, greedy=False, matched=3), 0.75, "", id="three of four"),
    pytest.param(TargetScore(text="Oslo", logprob=-1, tokens=1, greedy=True, matched=1), 1.0, "", id="the whole"),
    pytest.param(TargetScore(text="Oslo", logprob=-1, tokens=1, greedy=True), None, "does not say", id="not read"),
    pytest.param(TargetScore(text="Bonn", logprob=-1, tokens=1, greedy=True, matched=1), None, "other", id="another"),
]


@pytest.mark.parametrize(("target", "value", "reason"), HAND)
def test_by_hand(target: TargetScore, value: float | None, reason: str) -> None:
    metric, case = METRICS.get("es_argmax")(), make_case("Peru")
    (probe,) = metric.probes(case)
    (item,) = metric.score(case, {probe.id: Answer(probe=probe.id, targets=(target,))}, {}, "mean").items
    assert item.value == value and reason in item.reason


def test_neighbours_are_asked_for_the_old_object_and_no_answer_has_no_value() -> None:
    metric, case = METRICS.get("ns_argmax")(), make_case("Peru")
    assert [p.targets for p in metric.probes(case)] == [("Lima",)]
    assert [i.value for i in metric.score(case, {}, {}, "mean").items] == [None]
