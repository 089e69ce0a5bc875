"""How questions about events are asked: prompts, instructions, orders of options."""

from __future__ import annotations

import pytest

from evaluation.metrics.events import choice_probes, fact_probe, question_of
from evaluation.metrics.generation import EventChoice
from schemas.probes import instructed
from tests.support.events import make_fact_question, make_tendency

SAME, PAPER = EventChoice(), EventChoice(instruction="paper")


def with_event(prompt: str) -> str:
    return f"Event: Alba Rail merged.\n{prompt}"


def test_options_are_shown_in_all_three_rotations() -> None:
    parts = [p.prompt.split("\n")[0].split("? ")[1] for p in choice_probes(make_tendency(), SAME)]
    assert parts == [
        "(A) They rise (B) They fall (C) They stay as they are",
        "(A) They fall (B) They stay as they are (C) They rise",
        "(A) They stay as they are (B) They rise (C) They fall",
    ]
    (probe,) = choice_probes(make_tendency(), EventChoice(orders="given"))
    assert probe.prompt == choice_probes(make_tendency(), SAME)[0].prompt
    assert (probe.separator, probe.targets) == (" (", ("A", "B", "C"))


@pytest.mark.parametrize("probe", [fact_probe(make_fact_question(), SAME), choice_probes(make_tendency(), SAME)[0]])
def test_one_instruction_serves_with_and_without_an_event(probe) -> None:  # type: ignore[no-untyped-def]
    plain, prompt = instructed(probe, None), instructed(probe, with_event)
    assert prompt.split("\n\n")[0] == plain.split("\n\n")[0] == probe.instruction
    assert prompt.split("\n\n")[1] == with_event(plain.split("\n\n")[1])


def test_the_published_instructions_name_unknown_behind_an_event_only() -> None:
    probe = fact_probe(make_fact_question(), PAPER)
    assert "unknown" in instructed(probe, with_event) and "unknown" not in instructed(probe, None)
    assert "unknown" in instructed(fact_probe(make_fact_question(), SAME), None)
    assert probe.id != fact_probe(make_fact_question(), SAME).id


def test_an_answer_ends_with_its_line_and_after_so_many_tokens() -> None:
    probe = fact_probe(make_fact_question(), EventChoice(answer_tokens=7))
    assert (probe.most, probe.stop, probe.temperature, probe.chat) == (7, ("\n",), 0.0, "never")


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        (fact_probe(make_fact_question("Who (A) is it?\nSay!", key="q"), SAME).prompt, "Who (A) is it?\nSay!"),
        (choice_probes(make_tendency(), SAME)[2].prompt, "How may ticket prices change?"),
        ("The capital of Peru is", "The capital of Peru is"),
        ("Question: half of one", "Question: half of one"),
    ],
)
def test_the_question_is_found_in_its_prompt(prompt: str, question: str) -> None:
    assert question_of(prompt) == question
