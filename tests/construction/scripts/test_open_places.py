"""Where nothing leads to the object: any word may be thought of, said or printed; and what is avoided is no guide."""

from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from construction.scripts.open_places import open_place
from construction.scripts.truncation import SoughtObject, first_cut
from schemas.facts import Object
from schemas.scripts import Script, ScriptQuestion
from tests.support.facts import make_fact


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("Think of ", "Think of"),
        ("Sit down and think about ", "think about"),
        ('Write "', "Write"),
        ("Write down: ", "Write down"),
        ("Do not fly to ", "not fly to"),
        ("Don't fly to ", "n't fly to"),
        ("Take any road rather than that to ", "rather than that to"),
        ("Stay without ", "without"),
    ],
)
def test_places_where_anything_may_follow(before: str, words: str) -> None:
    assert open_place(before) == words


@pytest.mark.parametrize(
    "before",
    [
        "Fly to ",
        "Write to ",
        "Write a letter to the embassy of ",
        "Read the map of ",
        "Do not miss the train to ",
        "Don't forget to visit ",
        "Avoid the crowd. Then fly to ",
        "Say thank you in ",
        "Rethink of ",
        "As the city, write ",
        "Wear a badge saying ",
        "",
    ],
)
def test_places_that_lead_somewhere(before: str) -> None:
    assert open_place(before) is None


def test_a_language_is_said_and_written_but_not_thought_of() -> None:
    assert open_place("Write ", "P103") is None and open_place("Write ", "P36") == "Write"
    assert open_place("Think of ", "P103") == "Think of"


def test_a_cut_at_such_a_place_is_for_people_to_decide() -> None:
    fact = make_fact("Senegal", "Dakar", "Minsk")
    question = ScriptQuestion(key="q", fact=fact.key, text="How to lodge a complaint in Senegal?")
    for steps, label in ((("Write it", "Think of Dakar"), "unsure"), (("Write it", "Go to Dakar"), "keep")):
        script = Script(key="s", question="q", steps=steps)
        (said,) = judge("script", CheckInputs(fact=fact, question=question, script=script))
        assert said.label == label and ("Think of" in said.reason) == (label == "unsure")
        (earlier,) = judge("script", CheckInputs(fact=fact, question=question, script=script), rules=1)
        assert earlier.label == "keep", "a journal begun under the first rules goes on with them"


def test_a_later_place_does_not_make_the_first_one_better() -> None:
    cut = first_cut("How?", ("Think of Dakar", "Go to Dakar"), SoughtObject(Object(text="Dakar")))
    assert cut is not None and cut.step == 1 and "Think of" in cut.doubt
