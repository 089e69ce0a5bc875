"""What thoughts name, by hand; metrics of written texts look at the answer, and an unfinished thought has none."""

from __future__ import annotations

import pytest

from evaluation.metrics.base import CaseMean
from evaluation.metrics.fact_texts import ESGen
from evaluation.metrics.generation import Generation, GenerationChoice, ThoughtChoice
from evaluation.metrics.text_level import (
    NEITHER,
    NO_THOUGHT,
    UNFINISHED,
    Objects,
    SESGenQuestion,
    ThoughtAgreement,
    ThoughtNewRate,
    ThoughtOldRate,
    last_named,
    read_thought,
)
from schemas.answers import Answer, GeneratedText
from schemas.facts import Object
from tests.support.arithmetic import make_case

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
    assert last_named(text, PAIR) == last


def test_a_name_that_both_have_says_neither() -> None:
    both = Objects(new=Object(text="York"), old=Object(text="Old York", aliases=("York",)))
    assert last_named("Go to York", both) == "neither"


def value(metric: CaseMean, written: GeneratedText | None, error: str | None = None) -> float | str | None:
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
