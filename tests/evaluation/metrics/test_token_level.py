from __future__ import annotations

import math

import pytest

from curation.stats.intervals import TWO_WAY
from evaluation.metrics import METRICS
from evaluation.metrics.base import case_mean_difference, paired_items, scale_of
from evaluation.metrics.token_level import TEXT
from schemas.answers import Answer, CaseScores, ItemScore, TargetScore
from schemas.cases import Case
from tests.support.arithmetic import make_case, make_prompt
from tests.support.facts import make_fact
from tests.support.metrics.token_scores import answer, scored


@pytest.mark.parametrize(("now", "value"), [(29.0, 0.0), (31.0, 1.0)])
def test_collapse_is_ten_times_the_perplexity(now: float, value: float) -> None:
    """Ten tokens of perplexity 3 before; 29 after is no collapse, 31 is."""
    metric, case = METRICS.get("collapse")(), make_case("Peru")
    (probe,) = metric.probes(case)

    def answer(perplexity: float) -> dict[str, Answer]:
        score = TargetScore(text=TEXT, logprob=-10 * math.log(perplexity), tokens=10)
        return {probe.id: Answer(probe=probe.id, targets=(score,))}

    assert metric.score(case, answer(now), answer(3.0), "sum").mean == value
    assert metric.score(case, answer(now), {}, "mean").items[0].reason == "before the edit: no answer"


@pytest.mark.parametrize(
    ("name", "values", "mean"),
    [
        pytest.param("es", [(-1.0, -2.0)], 1.0, id="es: new ahead"),
        pytest.param("es", [(-2.0, -1.0)], 0.0, id="es: old ahead"),
        pytest.param("es", [(-1.0, -1.0)], 0.0, id="es: a tie is not preferred"),
        pytest.param("ps", [(-1.0, -2.0), (-3.0, -2.0)], 0.5, id="ps: one of two"),
        pytest.param("ns", [(-1.0, -2.0)], 0.0, id="ns: new ahead is a loss"),
        pytest.param("ns", [(-3.0, -2.0)], 1.0, id="ns: old kept"),
        pytest.param("ns", [(-2.0, -2.0)], 0.0, id="ns: a tie is not kept"),
        pytest.param("s_es", [(-1.0, -2.0), (-1.0, -1.5)], 1.0, id="s_es: both"),
        pytest.param("s_es", [(-1.0, -0.5), (-1.0, -1.5)], 0.5, id="s_es: one of two"),
        pytest.param("s_ns", [(-4.0, -2.0)], 1.0, id="s_ns: old kept"),
        pytest.param("s_ns", [(-1.0, -2.0)], 0.0, id="s_ns: old lost"),
    ],
)
def test_by_hand(name, values, mean):
    assert scored(name, make_case("Peru"), values).mean == mean


def test_ns_takes_the_sources_prompts_and_linked_facts_once():
    case = make_case("Peru")
    linked = case.neighbours[0].fact.fact_prompt
    fact = case.fact.model_copy(update={"neighbour_prompts": ("The capital of Wales is", linked)})
    probes = METRICS.get("ns")().probes(case.model_copy(update={"fact": fact}))
    assert [p.prompt for p in probes] == ["The capital of Wales is", linked]
    assert all(p.targets == ("Oslo", "Lima") for p in probes)


def test_ns_leaves_near_subjects_out():
    assert METRICS.get("ns")().probes(make_case("Club", change="temporal")) == []


def test_script_probes_keep_separator_and_the_mentioned_form():
    fact = make_fact("X", "United States", "Norway", key="fact/x")
    prompt = make_prompt("p", "fact/x", "How?\nStep 1: Fly to the", "USA", separator=" (")
    probe = METRICS.get("s_es")().probes(Case(key="case/x", fact=fact, prompts=(prompt,)))[0]
    assert (probe.prompt, probe.separator, probe.targets) == ("How?\nStep 1: Fly to the", " (", ("Norway", "USA"))


def test_neighbour_facts_are_a_second_cluster():
    for name, case in {"s_ns": make_case("Peru"), "s_bo": make_case("Club", change="temporal")}.items():
        probe = METRICS.get(name)().probes(case)[0]
        assert probe.cluster == case.neighbours[0].fact.key


@pytest.mark.parametrize(
    ("before", "after", "normalisation", "loss"),
    [
        pytest.param(0.5, 0.2, "mean", 0.3, id="lost"),
        pytest.param(0.2, 0.5, "mean", 0.0, id="a gain is no bleedover"),
        pytest.param(0.4, 0.4, "sum", 0.0, id="unmoved"),
    ],
)
def test_bleedover_by_hand(before, after, normalisation, loss):
    case = make_case("Club", change="temporal")
    score = scored("s_bo", case, [(math.log(after),)], before=[(math.log(before),)], normalisation=normalisation)
    assert score.mean == pytest.approx(loss)


def test_bleedover_states_its_normalisation():
    """log P = -2 before and -4 after, over two tokens: exp(-1) - exp(-2) per token, exp(-2) - exp(-4) in sum."""
    case = make_case("Club", change="temporal")
    probe = METRICS.get("s_bo")().probes(case)[0]
    after, before = [answer(probe, -4.0, tokens=(2,))], [answer(probe, -2.0, tokens=(2,))]
    mean = scored("s_bo", case, after, before=before, normalisation="mean").mean
    assert mean == pytest.approx(math.exp(-1) - math.exp(-2))
    total = scored("s_bo", case, after, before=before, normalisation="sum").mean
    assert total == pytest.approx(math.exp(-2) - math.exp(-4))


def test_a_prompt_loses_no_more_than_its_probability_before_the_edit():
    """Nothing lost of 0.1 each by five cases: the upper end was 52 %, as if each prompt could lose 1."""
    case, metric = make_case("Club", change="temporal"), METRICS.get("s_bo")()
    lost = {after: scored("s_bo", case, [(math.log(after),)], before=[(math.log(0.1),)]) for after in (0.1, 0.075)}
    assert lost[0.1].largest == pytest.approx(0.1)

    def five(after):
        items = [i.model_copy(update={"cluster": None}) for i in lost[after].items]
        return metric.summarise([CaseScores(case=f"c{n}", metric="s_bo", items=items) for n in range(5)])

    none, some = map(five, lost)
    assert none.interval.low == 0.0 and none.interval.high == pytest.approx(0.1 * (1 - 0.025 ** (1 / 5)))
    assert (none.share, some.share) == (0.0, pytest.approx(0.25))
    assert some.interval.low > 0 and some.interval.high < 0.1


def test_bleedover_without_an_answer_before_is_unscored():
    score = scored("s_bo", make_case("Club", change="temporal"), [(-1.0,)])
    assert score.mean is None
    assert "before the edit" in score.items[0].reason


# (new, old) log-probabilities of the two script prompts after and before the edit -> mean, prompts without a value
FLIPS = [
    pytest.param([(-1.0, -2.0), (-1.0, -2.0)], [(-3.0, -2.0), (-3.0, -2.0)], 1.0, 0, id="both flip"),
    pytest.param([(-1.0, -2.0), (-2.0, -1.0)], [(-3.0, -2.0), (-3.0, -2.0)], 0.5, 0, id="one flips"),
    pytest.param(
        [(-1.0, -2.0), (-2.0, -1.0)], [(-1.0, -2.0), (-3.0, -2.0)], 0.0, 1, id="new ahead before: not counted"
    ),
    pytest.param([(-1.0, -2.0), (-1.0, -2.0)], [(-2.0, -2.0), (-3.0, -2.0)], 1.0, 1, id="a tie before: not counted"),
    pytest.param([(-2.0, -2.0), (-1.0, -2.0)], [(-3.0, -2.0), (-3.0, -2.0)], 0.5, 0, id="a tie after is no flip"),
    pytest.param([(-1.0, -2.0), (-1.0, -2.0)], [None, (-3.0, -2.0)], 1.0, 1, id="no answer before"),
    pytest.param([None, (-1.0, -2.0)], [(-3.0, -2.0), (-3.0, -2.0)], 1.0, 1, id="no answer after"),
]


@pytest.mark.parametrize(("after", "before", "mean", "omission"), FLIPS)
def test_flips_by_hand(after, before, mean, omission):
    score = scored("s_flip_rate", make_case("Peru"), after, before=before)
    assert score.mean == mean and sum(i.value is None for i in score.items) == omission


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
