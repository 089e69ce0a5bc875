from __future__ import annotations

from typing import Any

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.fact_texts import Place, argmax_probe, fact_prompts, read_answer, text_probe, wanted_and_other
from evaluation.metrics.generation import Generation, GenerationChoice
from schemas.answers import Answer, GeneratedText, TargetScore
from schemas.facts import Object
from tests.support.arithmetic import make_case
from tests.support.metrics.text_scores import scored

NEW, OLD = Object(text="New York City", aliases=("NYC", "New York")), Object(text="York")


def text(words: str, ended: Any = "length") -> GeneratedText:
    return GeneratedText(text=words, tokens=5, ended=ended)


CASES = [
    pytest.param(" New York City.\nAnd", ("new", False, True, True, True, False), id="exact, ended by a new line"),
    pytest.param(' "NYC"', ("new", False, True, True, False, False), id="another name in quotes, cut by the limit"),
    pytest.param(" New York, a town", ("new", False, True, False, False, False), id="goes on: begins, not exact"),
    pytest.param(" the town of New York", ("new", False, False, False, False, False), id="named later"),
    pytest.param(" York, not New York", ("old", True, False, False, False, False), id="both, the other one first"),
    pytest.param(" New Yorkshire", ("neither", False, False, False, False, False), id="part of a word is no name"),
    pytest.param("\n\n New York\nYork", ("new", False, True, True, True, False), id="empty lines before the answer"),
    pytest.param("", ("neither", False, False, False, False, True), id="nothing written"),
    pytest.param("  \n ", ("neither", False, False, False, False, True), id="spaces only"),
    pytest.param(" NYC NYC NYC NYC", ("new", False, True, False, False, True), id="repeats itself"),
    pytest.param(" ...", ("neither", False, False, False, False, False), id="signs only"),
]


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_read_by_hand(words: str, expected: tuple[Any, ...]) -> None:
    answer = read_answer(text(words), NEW, OLD)
    read = (answer.first, answer.mixed, answer.begins, answer.exact, answer.natural, answer.degenerate)
    assert read == expected


def test_an_end_token_and_a_stop_text_are_natural_ends() -> None:
    ends = {ended: read_answer(text(" NYC", ended), NEW, OLD).natural for ended in ("eos", "stop", "length")}
    assert ends == {"eos": True, "stop": True, "length": False}


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


HAND_WRITTEN = [
    pytest.param("es_gen", [" Oslo."], [1.0], id="the new object"),
    pytest.param("es_gen", [" Lima and Oslo"], [0.0], id="the old one first"),
    pytest.param("es_gen", [" a town.\nOslo"], [0.0], id="the next line is another answer"),
    pytest.param("es_gen", [None], [None], id="none written: unscored"),
    pytest.param("ps_gen", [" Oslo", ""], [1.0, 0.0], id="two paraphrases, one empty answer"),
    pytest.param("ns_gen", [" Lima"], [1.0], id="neighbours keep the old object"),
    pytest.param("ns_gen", [" Oslo"], [0.0], id="a neighbour that took the new one"),
    pytest.param("ns_gen", [" Bonn"], [0.0], id="a neighbour that names neither"),
]


@pytest.mark.parametrize(("name", "texts", "values"), HAND_WRITTEN)
def test_by_hand_written(name: str, texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored(name, texts).items] == values
