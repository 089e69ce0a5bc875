"""What is asked at fact prompts, paraphrases and neighbours: no prompt twice, the wanted object first."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.fact_texts import Place, argmax_probe, fact_prompts, text_probe, wanted_and_other
from evaluation.metrics.generation import Generation, GenerationChoice
from tests.support.arithmetic import make_case


@pytest.mark.parametrize(("place", "metric"), [("fact", "es"), ("paraphrase", "ps"), ("neighbour", "ns")])
def test_the_prompts_are_those_of_the_metric_by_probability(place: Place, metric: str) -> None:
    case = make_case("Peru")
    prompts = [(p.prompt, p.item, p.cluster) for p in METRICS.get(metric)().probes(case)]
    assert [tuple(p) for p in fact_prompts(case, place)] == prompts and prompts


def test_a_prompt_that_stands_twice_is_asked_once() -> None:
    case = make_case("Peru")
    fact = case.fact.model_copy(update={"paraphrases": ("Peru is led from", "Peru is led from")})
    assert len(fact_prompts(case.model_copy(update={"fact": fact}), "paraphrase")) == 1


@pytest.mark.parametrize(("place", "wanted"), [("fact", "Oslo"), ("paraphrase", "Oslo"), ("neighbour", "Lima")])
def test_neighbours_keep_the_old_object(place: Place, wanted: str) -> None:
    case = make_case("Peru")
    assert wanted_and_other(case, place)[0].text == wanted
    probe = argmax_probe(case, fact_prompts(case, place)[0], place)
    assert (probe.targets, probe.greedy, probe.matches) == ((wanted,), True, True)


def test_texts_are_asked_without_a_chat_template_and_drawn_texts_have_seeds_of_their_own() -> None:
    case, choice = make_case("Peru"), GenerationChoice(temperature=1.0, step_tokens=7, stop=("END",))
    drawn = [text_probe(case, p, "paraphrase", Generation(choice, "d")) for p in fact_prompts(case, "paraphrase")]
    assert {(p.chat, p.most, p.stop, p.temperature, p.separator) for p in drawn} == {("never", 7, ("END",), 1.0, "")}
    assert len({p.seed for p in drawn}) == 2
