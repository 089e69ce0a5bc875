"""Shift of distributions by hand: equal ones, what moved, and what is missing on either side."""

from __future__ import annotations

import math

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.base import Preference
from schemas.answers import Answer, NextTokens, TargetScore
from schemas.probes import ScoreProbe
from tests.support.arithmetic import ArithmeticLM, make_case

FLAT = NextTokens(ids=tuple(range(10)), logprobs=(math.log(0.1),) * 10)
BENT = NextTokens(ids=(*range(1, 10), 20), logprobs=(math.log(0.1),) * 10)


def said(probe: ScoreProbe, tokens: NextTokens | None, **more: object) -> Answer:
    targets = tuple(TargetScore(text=t, logprob=-1, tokens=1) for t in probe.targets)
    return Answer(probe=probe.id, targets=targets, next_tokens=tokens).model_copy(update=more)


@pytest.mark.parametrize(("name", "same", "moved"), [("ns_kl", 0.0, None), ("ns_top", 1.0, 0.9)])
def test_by_hand(name: str, same: float, moved: float | None) -> None:
    metric, case = METRICS.get(name)(), make_case("Peru")
    (probe,) = metric.probes(case)
    before = {probe.id: said(probe, FLAT)}
    assert [i.value for i in metric.score(case, before, before, "mean").items] == [same]
    (item,) = metric.score(case, {probe.id: said(probe, BENT)}, before, "mean").items
    assert item.value is not None and (item.value == moved if moved else 0.5 < item.value < 1.0)


@pytest.mark.parametrize(
    ("after", "before", "reason"),
    [
        pytest.param({}, {"top": FLAT}, "no answer", id="nothing after"),
        pytest.param({"top": FLAT}, {}, "before the edit: no answer", id="nothing before"),
        pytest.param({"top": None}, {"top": FLAT}, "no next tokens", id="an answer of another kind"),
        pytest.param({"top": FLAT, "error": "too long"}, {"top": FLAT}, "too long", id="an error is said"),
    ],
)
def test_what_is_missing_is_unscored(after: dict, before: dict, reason: str) -> None:
    metric, case = METRICS.get("ns_kl")(), make_case("Peru")
    (probe,) = metric.probes(case)
    sides = [
        {probe.id: said(probe, a["top"], **{k: v for k, v in a.items() if k != "top"})} if a else {}
        for a in (after, before)
    ]
    (item,) = metric.score(case, sides[0], sides[1], "mean").items
    assert item.value is None and reason in item.reason


def test_it_sees_what_two_targets_do_not() -> None:
    """The old object stays ahead, so NS is perfect, while half of the distribution has gone elsewhere."""
    case, two = make_case("Peru"), METRICS.get("ns")()
    assert isinstance(two, Preference)
    (both,), (probe,) = two.probes(case), METRICS.get("ns_kl")().probes(case)
    scores = tuple(TargetScore(text=t, logprob=v, tokens=1) for t, v in zip(both.targets, (-9.0, -8.0), strict=True))
    half = NextTokens(ids=(20, *range(9)), logprobs=(math.log(0.5), *(math.log(0.5 / 9),) * 9))
    after = {both.id: Answer(probe=both.id, targets=scores), probe.id: said(probe, half)}
    assert two.score(case, after, {}, "mean").mean == 1.0
    shift = METRICS.get("ns_kl")().score(case, after, {probe.id: said(probe, FLAT)}, "mean").mean
    assert shift is not None and shift > 0.5


@pytest.mark.parametrize("name", ["es_kl", "ns_kl", "ns_top", "s_ns_kl", "s_ns_top", "unrelated_kl", "unrelated_top"])
def test_the_unedited_model_has_not_moved(name: str) -> None:
    metric, case, lm = METRICS.get(name)(), make_case("Peru"), ArithmeticLM()
    answers = {a.probe: a for a in lm.score(list(metric.probes(case)))}
    scores = metric.score(case, answers, answers, "mean")
    assert {i.value for i in scores.items} == {0.0 if name.endswith("kl") else 1.0}
