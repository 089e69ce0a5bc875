from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.base import Metric
from evaluation.metrics.fact_texts import ESGen
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
from schemas.answers import Answer, CaseScores, GeneratedText, ItemScore
from schemas.facts import Object
from tests.support.arithmetic import make_case, make_prompt
from tests.support.metrics.text_scores import SCRIPT, scored


@pytest.mark.parametrize("name", ["s_es_gen", "script_format"])
def test_an_error_is_unscored_and_never_a_zero(name: str) -> None:
    metric, case = METRICS.get(name)(), make_case("Peru")
    answers = {p.id: Answer(probe=p.id, error="the model broke") for p in metric.probes(case)}
    score = metric.score(case, answers, {}, "mean")
    assert score.mean is None and score.items
    assert all(i.value is None and "the model broke" in i.reason for i in score.items)


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
    assert value(SESGenQuestion(THINKS), written) == answered
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


@pytest.mark.parametrize(
    ("thought", "match"),
    [
        ({"marks": [["<a>", "<a>"]]}, "stands twice"),
        ({"marks": [["<a>", "</a>"], ["<b>", "</a>"]]}, "stands twice"),
        ({"marks": []}, "at least 1"),
        ({"marks": [["", "x"]]}, "at least 1 character"),
        ({"tokens": 0}, "greater than or equal to 1"),
        ({"budget": 3}, "Extra inputs"),
    ],
)
def test_choices_that_make_no_sense_are_refused(thought: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        GenerationChoice.model_validate({"thought": thought})


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
def test_a_neighbours_script_names_its_own_object(change: str) -> None:
    case = make_case("Peru", change=change)
    metric = METRICS.get("s_ns_gen_question")()
    (probe,) = metric.probes(case)
    own = case.neighbours[0].fact.old.text
    assert (probe.prompt, probe.cluster) == ("How to see Peruville (0)?", case.neighbours[0].fact.key)
    texts = {SCRIPT.format(own, "Oslo"): 1.0, SCRIPT.format("Oslo", own): 0.0, SCRIPT.format("Bonn", "Kyiv"): 0.0}
    for text, value in texts.items():
        answer = Answer(probe=probe.id, written=GeneratedText(text=text, tokens=9, ended="eos"))
        (item,) = metric.score(case, {probe.id: answer}, {}, "mean").items
        assert (item.value, item.cluster) == (value, probe.cluster)
