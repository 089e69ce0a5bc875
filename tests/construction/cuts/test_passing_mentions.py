"""Where the object is named in passing: one of several, on the way, at home, the name of another thing."""

from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from construction.cuts.cut_place import CutPlace
from construction.cuts.passing_mentions import passing_mention
from schemas.scripts import Script, ScriptQuestion
from tests.support.facts import make_fact


@pytest.mark.parametrize(
    ("before", "relation", "words"),
    [
        ("Compare Madrid, Rome or ", "", "or"),
        ("Pick either a ", "P1303", "either a"),
        ("Choose between Paris and ", "", "Choose between Paris and"),
        ("Visit Rome, ", "", "Rome"),
        ("No need to see ", "", "No need to see"),
        ("Imagine nothing bigger than ", "", "than"),
        ("List places like ", "", "like"),
        ("Find a rhyme for ", "", "rhyme for"),
        ("Shuffle the letters of ", "", "letters of"),
        ("Rave about ", "", "Rave about"),
        ("Shout 'Viva ", "", "Viva"),
        ("Fly via ", "P131", "via"),
        ("Change trains in ", "P131", "Change trains in"),
        ("Come back from ", "P36", "Come back from"),
        ("Leave ", "P36", "Leave"),
        ("Camp ten miles from ", "P131", "miles from"),
        ("Relax if you live in ", "P131", "you live in"),
        ("Lock your flat in ", "P159", "your flat in"),
        ("Ask your aunt in ", "P159", "your aunt in"),
        ("Greet your guide ", "P131", "your guide"),
        ("Hire a yacht called ", "P131", "yacht called"),
        ("Hum ", "P131", "Hum"),
        ("Finish a jigsaw of ", "P131", "jigsaw of"),
        ("Park behind a ", "P176", "behind a"),
    ],
)
def test_words_before_that_name_the_object_in_passing(before: str, relation: str, words: str) -> None:
    assert passing_mention(CutPlace(before, relation)) == words


@pytest.mark.parametrize(
    ("before", "after", "relation", "words"),
    [
        ("Fly to ", " or Lima", "", "or L"),
        ("Fly to ", " or elsewhere", "", "or else"),
        ("Note that ", " is not needed", "", "is not"),
        ("See that ", " can't help", "", "can't"),
        ("Leave ", " off the list", "P50", "off"),
        ("Grill thin ", " beef", "P131", "beef"),
        ("Turn into ", " street", "P159", "street"),
        ("Drink from a ", " mug", "P36", "mug"),
        ("Put on a ", " cap", "P176", "cap"),
        ("Seat the ", " people first", "P407", "people"),
    ],
)
def test_words_after_that_name_the_object_in_passing(before: str, after: str, relation: str, words: str) -> None:
    assert passing_mention(CutPlace(before, relation, after=after)) == words


@pytest.mark.parametrize(
    ("before", "after", "relation"),
    [
        ("Fly from Madrid to ", "", "P36"),
        ("Fly or drive to ", "", "P36"),
        ("Take the road between Porto and ", "", "P36"),
        ("Ask Anna, then write to ", "", "P159"),
        ("No later than noon reach ", "", "P131"),
        ("Plan more than a day for ", "", "P131"),
        ("Reply no later than ", "", "birth_month"),
        ("Do not change money before ", "", "P131"),
        ("Change money, then travel to ", "", "P131"),
        ("Get a licence from ", "", "P131"),
        ("Stay with friends in ", "", "P131"),
        ("Book your room in ", "", "P131"),
        ("Go to the capital called ", "", "P36"),
        ("Compare flights to ", "", "P17"),
        ("Would you like ", "", "P131"),
        ("I would like ", "", "P131"),
        ("Ask the embassy of ", " or phone them", "P17"),
        ("Buy a ", " map", "P131"),
        ("Order at the ", " dealer", "P176"),
        ("Buy a ", " scarf", "P54"),
        ("Take a ", " course", "P407"),
        ("Chase after ", " peopled lands", "P407"),
        ("", "", ""),
    ],
)
def test_places_that_lead_to_the_object(before: str, after: str, relation: str) -> None:
    assert passing_mention(CutPlace(before, relation, after=after)) is None


def test_another_may_be_like_a_person() -> None:
    assert (
        passing_mention(CutPlace("Train like ", person=True)) is None
        and passing_mention(CutPlace("Train like ")) == "like"
    )


@pytest.mark.parametrize("relation", ["P50", "P641", ""])
def test_what_holds_of_places_only_is_asked_of_them_only(relation: str) -> None:
    assert passing_mention(CutPlace("Leave ", relation)) is None and passing_mention(CutPlace("Hum ", relation)) is None
    assert passing_mention(CutPlace("Grill ", relation, after=" beef")) is None


@pytest.mark.parametrize(
    ("step", "label", "side"),
    [("Fly via Dakar", "unsure", "after 'via'"), ("Book a Dakar hotel for beef", "keep", ""),
     ("Roast Dakar beef", "unsure", "before 'beef'"), ("Note that Dakar is not far", "unsure", "before 'is not'")],
)  # fmt: skip
def test_such_a_cut_is_for_people_and_the_reason_says_where(step: str, label: str, side: str) -> None:
    fact = make_fact("Senegal", "Dakar", "Minsk")
    fact = fact.model_copy(update={"relation": fact.relation.model_copy(update={"id": "P36"})})
    question = ScriptQuestion(key="q", fact=fact.key, text="How to lodge a complaint in Senegal?")
    script = Script(key="s", question="q", steps=("Write it", step))
    (verdicts,) = judge("script", CheckInputs(fact=fact, question=question, script=script))
    assert verdicts.label == label and side in verdicts.reason
