"""Every metric against cases worked by hand; ties, truncated prompts and missing answers are counted, never guessed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.base import Preference
from evaluation.runs.plan import ask, load_metrics
from schemas.answers import Answer, CaseScores, ItemScore, TargetScore
from schemas.cases import Case, CaseNeighbour
from schemas.core.errors import UserError
from schemas.probes import ScoreProbe
from tests.support.arithmetic import make_case, make_neighbour, make_prompt
from tests.support.facts import make_fact


def answer(probe: ScoreProbe, *values: float, tokens: tuple[int, ...] = (), **more: Any) -> Answer:
    """An answer whose targets have these log-probabilities (sums) over so many tokens (1 unless told)."""
    counts = tokens or (1,) * len(values)
    scores = tuple(
        TargetScore(text=t, logprob=v, tokens=n) for t, v, n in zip(probe.targets, values, counts, strict=False)
    )
    return Answer(probe=probe.id, targets=scores, **more)


def scored(
    name: str, case: Case, answers: list[Any], *, how: str = "mean", before: list[Any] | None = None
) -> CaseScores:
    """Score a case, given each probe's (log-probabilities) in the metric's order of asking; None is no answer."""
    metric = METRICS.get(name)()
    probes = metric.probes(case)
    assert len(probes) == len(answers)

    def table(given: list[Any]) -> dict[str, Answer]:
        made = {p.id: (a if isinstance(a, Answer) else answer(p, *a)) for p, a in zip(probes, given, strict=True) if a}
        return made

    return metric.score(case, table(answers), table(before or [None] * len(probes)), how)


# (new, old) log-probabilities by prompt -> the case's mean
PREFERENCES = [
    pytest.param("es", "Peru", [(-1.0, -2.0)], 1.0, id="es: new ahead"),
    pytest.param("es", "Peru", [(-2.0, -1.0)], 0.0, id="es: old ahead"),
    pytest.param("es", "Peru", [(-1.0, -1.0)], 0.0, id="es: a tie is not preferred"),
    pytest.param("ps", "Peru", [(-1.0, -2.0), (-3.0, -2.0)], 0.5, id="ps: one of two"),
    pytest.param("ns", "Peru", [(-1.0, -2.0)], 0.0, id="ns: new ahead is a loss"),
    pytest.param("ns", "Peru", [(-3.0, -2.0)], 1.0, id="ns: old kept"),
    pytest.param("ns", "Peru", [(-2.0, -2.0)], 0.0, id="ns: a tie is not kept"),
    pytest.param("s_es", "Peru", [(-1.0, -2.0), (-1.0, -1.5)], 1.0, id="s_es: both"),
    pytest.param("s_es", "Peru", [(-1.0, -0.5), (-1.0, -1.5)], 0.5, id="s_es: one of two"),
    pytest.param("s_ns", "Peru", [(-4.0, -2.0)], 1.0, id="s_ns: old kept"),
    pytest.param("s_ns", "Peru", [(-1.0, -2.0)], 0.0, id="s_ns: old lost"),
]


@pytest.mark.parametrize(("name", "subject", "values", "mean"), PREFERENCES)
def test_preferences_by_hand(name, subject, values, mean):
    assert scored(name, make_case(subject), values).mean == mean


def test_ties_are_marked():
    found = scored("ps", make_case("Peru"), [(-1.0, -1.0), (-1.0, -2.0)])
    assert [i.tie for i in found.items] == [True, False]
    assert METRICS.get("ps")().summarise([found]).ties == 1


def test_normalisation_can_turn_a_decision():
    """New: -4 over 4 tokens (mean -1, sum -4). Old: -2 over 1 token (mean -2, sum -2)."""
    case = make_case("Peru")
    probe = METRICS.get("es")().probes(case)[0]
    given = [answer(probe, -4.0, -2.0, tokens=(4, 1))]
    assert scored("es", case, given, how="mean").mean == 1.0
    assert scored("es", case, given, how="sum").mean == 0.0


@pytest.mark.parametrize(
    ("before", "after", "how", "loss"),
    [
        pytest.param(0.5, 0.2, "mean", 0.3, id="lost"),
        pytest.param(0.2, 0.5, "mean", 0.0, id="a gain is no bleedover"),
        pytest.param(0.4, 0.4, "sum", 0.0, id="unmoved"),
    ],
)
def test_bleedover_by_hand(before, after, how, loss):
    case = make_case("Club", change="temporal")
    found = scored("s_bo", case, [(math.log(after),)], before=[(math.log(before),)], how=how)
    assert found.mean == pytest.approx(loss)


def test_bleedover_states_its_normalisation():
    """log P = -2 before and -4 after, over two tokens: exp(-1) - exp(-2) per token, exp(-2) - exp(-4) in sum."""
    case = make_case("Club", change="temporal")
    probe = METRICS.get("s_bo")().probes(case)[0]
    after, before = [answer(probe, -4.0, tokens=(2,))], [answer(probe, -2.0, tokens=(2,))]
    assert scored("s_bo", case, after, before=before, how="mean").mean == pytest.approx(math.exp(-1) - math.exp(-2))
    assert scored("s_bo", case, after, before=before, how="sum").mean == pytest.approx(math.exp(-2) - math.exp(-4))


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
    for reason, given in cases.items():
        found = scored("s_es", case, [given, (-1.0, -2.0)])
        assert found.items[0].value is None, reason
        assert reason in found.items[0].reason
        assert found.mean == 1.0, "the scored prompt alone makes the mean"
        summary = metric.summarise([found])
        assert (summary.items, summary.unscored, summary.cases) == (1, 1, 1)


def test_bleedover_without_an_answer_before_is_unscored():
    found = scored("s_bo", make_case("Club", change="temporal"), [(-1.0,)])
    assert found.mean is None
    assert "before the edit" in found.items[0].reason


def test_truncated_prompts_are_scored_and_counted():
    case = make_case("Peru")
    first = METRICS.get("s_es")().probes(case)[0]
    found = scored("s_es", case, [answer(first, -1.0, -2.0, truncated=True), (-1.0, -2.0)])
    assert found.mean == 1.0
    assert METRICS.get("s_es")().summarise([found]).truncated == 1


def test_truncated_without_targets_is_unscored():
    case = make_case("Peru")
    first = METRICS.get("es")().probes(case)[0]
    found = scored("es", case, [Answer(probe=first.id, truncated=True)])
    summary = METRICS.get("es")().summarise([found])
    assert (summary.mean, summary.unscored, summary.truncated) == (None, 1, 1)


def test_a_metric_that_does_not_apply_has_no_items():
    near, same = make_case("Club", change="temporal"), make_case("Peru")
    assert METRICS.get("s_ns")().probes(near) == []
    assert METRICS.get("s_bo")().probes(same) == []
    metric = METRICS.get("s_ns")()
    found = [metric.score(near, {}, {}, "mean"), scored("s_ns", same, [(-3.0, -2.0)])]
    assert metric.summarise(found).cases == 1


def test_mean_of_case_means_not_of_prompts():
    """Case a: 1 of 1. Case b: 0 of 3. The mean of cases is .5, that of prompts .25."""

    def case(key: str, values: list[float]) -> CaseScores:
        items = tuple(ItemScore(probe=f"{key}{n}", item="x", value=v) for n, v in enumerate(values))
        return CaseScores(case=key, metric="ns", items=items)

    summary = METRICS.get("ns")().summarise([case("a", [1.0]), case("b", [0.0, 0.0, 0.0])])
    assert (summary.mean, summary.cases, summary.items) == (0.5, 2, 4)
    assert summary.half == pytest.approx(1.96 * math.sqrt(0.5) / math.sqrt(2))


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


def test_equal_questions_are_asked_once():
    fact = make_fact("X", "Lima", "Oslo", key="fact/x", paraphrases=("The capital of X is", "X is led from"))
    case = Case(key="case/x", fact=fact, neighbours=())
    metrics = load_metrics(["es", "ps"])
    asked = ask(case, metrics)
    assert [p.prompt for p in asked] == ["The capital of X is", "X is led from"]
    assert sum(len(m.probes(case)) for m in metrics) == 3


def test_a_case_without_new_object_is_refused():
    case = Case(key="case/x", fact=make_fact("X", "Lima", None, key="fact/x"))
    with pytest.raises(UserError, match="no new object"):
        METRICS.get("es")().probes(case)


def test_several_neighbours_and_prompts_all_count():
    case = make_case("Peru")
    more: tuple[CaseNeighbour, ...] = (
        make_neighbour(case.fact.key, "A", "Lima", "same_object", prompts=2),
        make_neighbour(case.fact.key, "B", "Lima", "same_object", prompts=1),
    )
    found = scored("s_ns", case.model_copy(update={"neighbours": more}), [(-3, -2), (-1, -2), (-3, -2)])
    assert found.mean == pytest.approx(2 / 3)


def test_preference_is_abstract():
    with pytest.raises(NotImplementedError):
        Preference().probes(make_case("Peru"))
