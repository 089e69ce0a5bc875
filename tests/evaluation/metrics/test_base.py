from __future__ import annotations

import math

from curation.stats.intervals import TWO_WAY
from evaluation.metrics import METRICS
from evaluation.metrics.base import case_mean_difference, paired_items, scale_of
from schemas.answers import Answer, CaseScores, ItemScore, TargetScore
from tests.support.arithmetic import make_case
from tests.support.metrics.token_scores import answer, scored


def test_ties_are_marked():
    score = scored("ps", make_case("Peru"), [(-1.0, -1.0), (-1.0, -2.0)])
    assert [i.tie for i in score.items] == [True, False]
    assert METRICS.get("ps")().summarise([score]).ties == 1


def test_normalisation_can_turn_a_decision():
    """New: -4 over 4 tokens (mean -1, sum -4). Old: -2 over 1 token (mean -2, sum -2)."""
    case = make_case("Peru")
    probe = METRICS.get("es")().probes(case)[0]
    answers = [answer(probe, -4.0, -2.0, tokens=(4, 1))]
    assert scored("es", case, answers, normalisation="mean").mean == 1.0
    assert scored("es", case, answers, normalisation="sum").mean == 0.0


def test_unscored_is_a_value_and_never_a_zero():
    case = make_case("Peru")
    metric = METRICS.get("s_es")()
    first = metric.probes(case)[0]
    cases = {
        "no answer": None,
        "the model broke": Answer(probe=first.id, error="the model broke"),
        "not a number": answer(first, math.nan, -1.0),
        "no token": answer(first, -1.0, -2.0, tokens=(0, 1)),
        "other targets": Answer(probe=first.id, targets=(TargetScore(text="Rome", logprob=-1, tokens=1),)),
    }
    for reason, value in cases.items():
        score = scored("s_es", case, [value, (-1.0, -2.0)])
        assert score.items[0].value is None, reason
        assert reason in score.items[0].reason
        assert score.mean == 1.0, "the scored prompt alone makes the mean"
        summary = metric.summarise([score])
        assert (summary.items, summary.unscored, summary.cases) == (1, 1, 1)


def test_truncated_without_targets_is_unscored():
    case = make_case("Peru")
    first = METRICS.get("es")().probes(case)[0]
    score = scored("es", case, [Answer(probe=first.id, truncated=True)])
    summary = METRICS.get("es")().summarise([score])
    assert (summary.mean, summary.unscored, summary.truncated) == (None, 1, 1)


def test_mean_of_case_means_not_of_prompts():
    """Case a: 1 of 1. Case b: 0 of 3. The mean of cases is .5, that of prompts .25."""

    def case(key: str, values: list[float]) -> CaseScores:
        items = tuple(ItemScore(probe=f"{key}{n}", item="x", value=v) for n, v in enumerate(values))
        return CaseScores(case=key, metric="ns", items=items)

    summary = METRICS.get("ns")().summarise([case("a", [1.0]), case("b", [0.0, 0.0, 0.0])])
    assert (summary.mean, summary.cases, summary.items) == (0.5, 2, 4)
    assert summary.half is None, "two cases are too few for an interval"


def test_only_fractions_have_a_lowest_and_a_highest_value():
    assert scale_of(METRICS.get("s_es")()) == (0.0, 1.0)
    assert scale_of(METRICS.get("n_gram_entropy")) is None


def scores(rows: list[tuple[str, str | None, float | None]]) -> list[CaseScores]:
    cases = dict.fromkeys(c for c, _, _ in rows)
    return [
        CaseScores(
            case=case,
            metric="s_ns",
            items=tuple(
                ItemScore(probe=f"p{n}", item="i", cluster=k, value=v, reason="" if v is not None else "no answer")
                for n, (c, k, v) in enumerate(rows)
                if c == case
            ),
        )
        for case in cases
    ]


def test_a_difference_is_two_way_where_neighbours_recur() -> None:
    """Two neighbours decide everything: by case it would look certain."""
    now = {s.case: s for s in scores([(f"c{c}", n, float(n == "x")) for c in range(12) for n in "xy"])}
    then = {s.case: s for s in scores([(f"c{c}", n, 0.0) for c in range(12) for n in "xy"])}
    items = paired_items(now, then)
    assert len(items) == 24 and {i.neighbour for i in items} == {"x", "y"}
    interval = case_mean_difference(METRICS.get("s_ns")(), now, then)
    assert interval.kind == TWO_WAY and interval.mean == 0.5 and interval.low < 0
    single_share = {k: s for k, s in now.items() if k == "c0"}
    assert case_mean_difference(METRICS.get("s_ns")(), single_share, then).low is None
    assert paired_items(now, {}) == []


def test_truncated_prompts_are_scored_and_counted():
    case = make_case("Peru")
    first = METRICS.get("s_es")().probes(case)[0]
    score = scored("s_es", case, [answer(first, -1.0, -2.0, truncated=True), (-1.0, -2.0)])
    assert score.mean == 1.0
    assert METRICS.get("s_es")().summarise([score]).truncated == 1
