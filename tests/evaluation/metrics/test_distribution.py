from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.distribution import TOP, Region, agreement, distribution_probes, divergence
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


@pytest.mark.parametrize("name", ["es_kl", "ns_kl", "ns_top", "s_ns_kl", "s_ns_top", "unrelated_kl", "unrelated_top"])
def test_the_unedited_model_has_not_moved(name: str) -> None:
    metric, case, lm = METRICS.get(name)(), make_case("Peru"), ArithmeticLM()
    answers = {a.probe: a for a in lm.score(list(metric.probes(case)))}
    scores = metric.score(case, answers, answers, "mean")
    assert {i.value for i in scores.items} == {0.0 if name.endswith("kl") else 1.0}


def top(logits: np.ndarray, k: int) -> NextTokens:
    logprobs = logits - np.logaddexp.reduce(logits)
    order = np.argsort(-logprobs, kind="stable")[:k]
    return NextTokens(ids=tuple(map(int, order)), logprobs=tuple(round(float(logprobs[n]), 5) for n in order))


def whole(p: np.ndarray, q: np.ndarray) -> float:
    p, q = (x - np.logaddexp.reduce(x) for x in (p, q))
    return float((np.exp(p) * (p - q)).sum())


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.0, 5.0])
def test_exact_over_the_whole_vocabulary_and_never_above_it(shift: float) -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        p = 3 * generator.normal(size=200)
        q = p + shift * generator.normal(size=200)
        truth = whole(p, q)
        assert divergence(top(p, 200), top(q, 200)) == pytest.approx(truth, abs=3e-3)
        values = [divergence(top(p, k), top(q, k)) for k in (1, 5, 50)]
        assert all(-1e-12 <= v <= truth + 1e-3 for v in values)
        assert shift or max(values) < 1e-6
    assert shift < 1 or values[-1] > 0.5 * truth, "fifty tokens see most of a large change"


def test_lists_without_a_token_in_common_are_far_apart_not_infinitely() -> None:
    one = NextTokens(ids=(0, 1), logprobs=(math.log(0.6), math.log(0.4)))
    two = NextTokens(ids=(2, 3), logprobs=(math.log(0.6), math.log(0.4)))
    assert divergence(one, two) == pytest.approx(-math.log(1e-4), abs=0.01) and agreement(one, two, 2) == 0.0


def test_a_token_that_left_the_list_has_at_most_the_probability_of_its_last() -> None:
    before = NextTokens(ids=(0, 1), logprobs=(math.log(0.9), math.log(0.05)))
    after = NextTokens(ids=(1, 2), logprobs=(math.log(0.05), math.log(0.04)))
    by_hand = 0.9 * math.log(0.9 / 0.04) + 0.05 * math.log(0.05 / 0.91)
    assert divergence(before, after) == pytest.approx(by_hand, abs=1e-6)


def test_agreement_of_lists_shorter_than_k_and_of_empty_ones() -> None:
    short = NextTokens(ids=(1,), logprobs=(-0.1,))
    assert agreement(short, short, 10) == 1.0
    assert agreement(NextTokens(ids=(), logprobs=()), short, 10) == 1.0


@pytest.mark.parametrize(("region", "metric"), [("neighbour", "ns"), ("script_neighbour", "s_ns")])
def test_neighbours_are_those_of_the_two_target_metric(region: Region, metric: str) -> None:
    case = make_case("Peru")
    two = METRICS.get(metric)().probes(case)
    one = distribution_probes(case, region)
    assert [(p.prompt, p.separator, p.cluster) for p in one] == [(p.prompt, p.separator, p.cluster) for p in two]
    assert {(p.targets, p.top) for p in one} == {(("Lima",), TOP)} and {p.id for p in one}.isdisjoint(p.id for p in two)
