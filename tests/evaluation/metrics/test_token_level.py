from __future__ import annotations

import math

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.token_level import TEXT
from schemas.answers import Answer, CaseScores, TargetScore
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
