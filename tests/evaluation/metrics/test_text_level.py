"""Metrics over texts and distributions, worked by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.base import Metric
from evaluation.metrics.distribution import TOP, Region, agreement, distribution_probes, divergence
from evaluation.metrics.fact_texts import (
    ESGen,
    Place,
    argmax_probe,
    fact_prompts,
    read_answer,
    text_probe,
    wanted_and_other,
)
from evaluation.metrics.generation import Generation, GenerationChoice, ThoughtChoice
from evaluation.metrics.script_parser import names
from evaluation.metrics.text_level import (
    NEITHER,
    NO_THOUGHT,
    UNFINISHED,
    Objects,
    SESGenQuestion,
    ThoughtAgreement,
    ThoughtNewRate,
    ThoughtOldRate,
    objects,
    read_thought,
)
from schemas.answers import Answer, CaseScores, GeneratedText, ItemScore, NextTokens, TargetScore
from schemas.facts import Object
from schemas.probes import ScoreProbe
from tests.support.arithmetic import make_case, make_prompt
from tests.support.metrics.text_scores import SCRIPT, scored


@pytest.mark.parametrize(
    ("name", "texts", "values"),
    [
        pytest.param("n_gram_entropy", ["short", " ".join(["a"] * 50)], [None, 0.0], id="entropy"),
        pytest.param("old_object_rate", [SCRIPT.format("Lima", "Oslo"), "No steps."], [1 / 3, None], id="old in steps"),
        pytest.param("refusal_rate", [SCRIPT, "I cannot help."], [0.0, 1.0], id="refused"),
        pytest.param("repetition_rate", [SCRIPT, "Oslo Oslo Oslo Oslo"], [0.0, 1.0], id="loops"),
        pytest.param("s_es_gen", [" Oslo.", " Lima, then Oslo"], [1.0, 0.0], id="first mention decides"),
        pytest.param("s_es_gen", [" the airport", None], [0.0, None], id="neither is no success, none unscored"),
        pytest.param(
            "s_es_gen_question",
            [SCRIPT.format("Oslo", "Lima"), SCRIPT.format("Lima", "Oslo")],
            [1.0, 0.0],
            id="question",
        ),
        pytest.param(
            "s_es_gen_question", ["Go to Oslo", "Step 1: Oslo Oslo Oslo Oslo"], [0.0, 0.0], id="no script, no success"
        ),
    ],
)
def test_by_hand(name: str, texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored(name, texts).items] == values


def test_an_entropy_is_never_below_nothing() -> None:
    """Loops of six cases, one of them with a few words more: "0.05 [-0.06, 0.26]" bits."""
    values = [0.0, 0.0, 0.0, 0.0, 0.1, 0.2]
    scores = [
        CaseScores(case=f"c{k}", metric="n_gram_entropy", items=(ItemScore(probe="p", item="p", value=v),))
        for k, v in enumerate(values)
    ]
    summary = METRICS.get("n_gram_entropy")().summarise(scores)
    assert summary.ends is not None and summary.ends[0] == 0.0 < summary.mean < summary.ends[1]


def test_unscored_is_counted_and_says_why() -> None:
    score = scored("old_object_rate", ["No steps.", None])
    assert [i.reason for i in score.items] == ["the text has no steps", "no answer"] and score.mean is None
    assert METRICS.get("old_object_rate")().summarise([score]).unscored == 2


PAIR = Objects(new=Object(text="Oslo"), old=Object(text="Lima"))


THINKS = Generation(GenerationChoice(thought=ThoughtChoice()))


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("", "neither"),
        ("Oslo? No: Lima.", "old"),
        ("Lima, then Lima's sea, then Oslo", "new"),
        ("Nowhere", "neither"),
    ],
)
def test_the_last_object(text: str, last: str) -> None:
    assert names(text, *PAIR).last == last


def test_a_name_that_both_have_says_neither() -> None:
    both = Objects(new=Object(text="York"), old=Object(text="Old York", aliases=("York",)))
    assert names("Go to York", *both).last == "neither"


def value(metric: Metric, written: GeneratedText | None, error: str | None = None) -> float | str | None:
    """The value of a case's first text, or why it has none."""
    case = make_case("Peru")
    probe = metric.probes(case)[0]  # type: ignore[attr-defined]
    answers = {probe.id: Answer(probe=probe.id, written=written, error=error)}
    item = metric.score(case, answers, {}, "mean").items[0]  # type: ignore[attr-defined]
    return item.reason if item.value is None else item.value


def text(answer: str, thought: str | None, *, unfinished: bool = False) -> GeneratedText:
    return GeneratedText(text=answer, thought=thought, unfinished=unfinished, tokens=3, ended="eos")


TABLE = [
    # answer, thought, unfinished, old, new, agreement, the metric of the answer
    pytest.param(text("Oslo", "Lima"), 1.0, 0.0, 0.0, 1.0, id="hidden: old thought, new answer"),
    pytest.param(text("Lima", "Oslo? Lima."), 1.0, 1.0, 1.0, 0.0, id="both thought, old answer"),
    pytest.param(text("Oslo", "Lima? Oslo."), 1.0, 1.0, 1.0, 1.0, id="new at last"),
    pytest.param(text("Oslo", "Hm."), 0.0, 0.0, NEITHER, 1.0, id="thought of neither"),
    pytest.param(text("Bonn", "Lima"), 1.0, 0.0, NEITHER, 0.0, id="answer of neither"),
    pytest.param(text("Oslo", None), NO_THOUGHT, NO_THOUGHT, NO_THOUGHT, 1.0, id="no thought"),
    pytest.param(text("Oslo", ""), NO_THOUGHT, NO_THOUGHT, NO_THOUGHT, 1.0, id="empty thought"),
    pytest.param(text("", "Lima", unfinished=True), 1.0, 0.0, UNFINISHED, UNFINISHED, id="unfinished"),
    pytest.param(text("Oslo", "Lima", unfinished=True), 1.0, 0.0, UNFINISHED, UNFINISHED, id="goes on thinking"),
]


@pytest.mark.parametrize(("written", "old", "new", "agrees", "answered"), TABLE)
def test_every_figure_of_a_text_by_hand(
    written: GeneratedText, old: float | str, new: float | str, agrees: float | str, answered: float | str
) -> None:
    assert value(ThoughtOldRate(THINKS), written) == old
    assert value(ThoughtNewRate(THINKS), written) == new
    assert value(ThoughtAgreement(THINKS), written) == agrees
    script = written.model_copy(update={"text": f"Step 1: {written.text}"})
    assert value(SESGenQuestion(THINKS), script) == answered
    assert value(ESGen(THINKS), written) == answered


def test_a_text_that_was_not_written_keeps_its_reason() -> None:
    assert value(ThoughtOldRate(THINKS), None, "no room") == "no room"
    assert read_thought(text("Oslo", None), PAIR) is None


def test_probes_carry_the_thought_and_have_other_ids() -> None:
    case = make_case("Peru")
    for metric in (SESGenQuestion, ESGen):
        plain, thinks = metric().probes(case)[0], metric(THINKS).probes(case)[0]
        assert plain.thought is None and thinks.thought is not None and plain.id != thinks.id
        assert thinks.longest == plain.most + 1024
    assert ESGen(THINKS).probes(case)[0].chat == "never"


def test_where_the_model_shall_think_everywhere_prompts_are_messages() -> None:
    everywhere = Generation(GenerationChoice(thought=ThoughtChoice(everywhere=True)))
    (probe,) = ESGen(everywhere).probes(make_case("Peru"))
    assert probe.chat == "always" and probe.instruction.startswith("The sentence below was cut off")


def test_names_of_the_script_prompt_count() -> None:
    case = make_case("Peru")
    prompt = make_prompt("p", case.fact.key, "How?\nStep 1: Fly to", "the City of Kings", "Christiania")
    object_pair = objects(case, prompt)
    assert "the City of Kings" in object_pair.old.names and "Christiania" in object_pair.new.names
    case = case.model_copy(update={"prompts": (prompt,)})
    assert scored("s_es_gen", [" Christiania"], case=case).mean == 1.0
    assert "Christiania" not in objects(case).new.names


def test_the_rest_of_the_step_is_asked_as_the_prompt_was_cut() -> None:
    case = make_case("Peru")
    cut = make_prompt("p", case.fact.key, "How?\nStep 1: Say", "Lima", separator=' "')
    (probe,) = METRICS.get("s_es_gen")().probes(case.model_copy(update={"prompts": (cut,)}))
    assert (probe.prompt, probe.separator, probe.stop, probe.chat) == (cut.text, ' "', ("\n",), "never")
    (spaced, _) = METRICS.get("s_es_gen")().probes(case)
    assert spaced.separator == "", "the space is the model's to write"


@pytest.mark.parametrize("change", ["counterfactual", "temporal"])
def test_a_neighbours_script_is_left_alone(change: str) -> None:
    case = make_case("Peru", change=change)
    metric = METRICS.get("s_ns_gen_question")()
    (probe,) = metric.probes(case)
    own = case.neighbours[0].fact.old.text
    assert (probe.prompt, probe.cluster) == ("How to see Peruville (0)?", case.neighbours[0].fact.key)
    texts = {SCRIPT.format(own, "Oslo"): 1.0, SCRIPT.format("Oslo", own): 0.0, SCRIPT.format("Bonn", "Kyiv"): 1.0}
    texts |= {f"Go to {own}": 0.0, f"Step 1: {own} {own} {own} {own}": 0.0}
    for text, value in texts.items():
        answer = Answer(probe=probe.id, written=GeneratedText(text=text, tokens=9, ended="eos"))
        (item,) = metric.score(case, {probe.id: answer}, {}, "mean").items
        assert (item.value, item.cluster) == (value, probe.cluster)


NEW, OLD = Object(text="New York City", aliases=("NYC", "New York")), Object(text="York")


def fact_text(words: str, ended: Any = "length") -> GeneratedText:
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
    answer = read_answer(fact_text(words), NEW, OLD)
    read = (answer.first, answer.mixed, answer.begins, answer.exact, answer.natural, answer.degenerate)
    assert read == expected


def test_an_end_token_and_a_stop_text_are_natural_ends() -> None:
    ends = {ended: read_answer(fact_text(" NYC", ended), NEW, OLD).natural for ended in ("eos", "stop", "length")}
    assert ends == {"eos": True, "stop": True, "length": False}


HAND = [
    pytest.param(TargetScore(text="Oslo", logprob=-1, tokens=4, greedy=False, matched=3), 0.75, "", id="three of four"),
    pytest.param(TargetScore(text="Oslo", logprob=-1, tokens=1, greedy=True, matched=1), 1.0, "", id="the whole"),
    pytest.param(TargetScore(text="Oslo", logprob=-1, tokens=1, greedy=True), None, "does not say", id="not read"),
    pytest.param(TargetScore(text="Bonn", logprob=-1, tokens=1, greedy=True, matched=1), None, "other", id="another"),
]


@pytest.mark.parametrize(("target", "value", "reason"), HAND)
def test_fact_texts_by_hand(target: TargetScore, value: float | None, reason: str) -> None:
    metric, case = METRICS.get("es_argmax")(), make_case("Peru")
    (probe,) = metric.probes(case)
    (item,) = metric.score(case, {probe.id: Answer(probe=probe.id, targets=(target,))}, {}, "mean").items
    assert item.value == value and reason in item.reason


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


FLAT = NextTokens(ids=tuple(range(10)), logprobs=(math.log(0.1),) * 10)


BENT = NextTokens(ids=(*range(1, 10), 20), logprobs=(math.log(0.1),) * 10)


def said(probe: ScoreProbe, tokens: NextTokens | None, **more: object) -> Answer:
    targets = tuple(TargetScore(text=t, logprob=-1, tokens=1) for t in probe.targets)
    return Answer(probe=probe.id, targets=targets, next_tokens=tokens).model_copy(update=more)


@pytest.mark.parametrize(("name", "same", "moved"), [("ns_kl", 0.0, None), ("ns_top", 1.0, 0.9)])
def test_distributions_by_hand(name: str, same: float, moved: float | None) -> None:
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
