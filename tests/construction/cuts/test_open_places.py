"""Where nothing leads to the object: any word may be thought of, said or printed; and what is avoided is no guide."""

from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from construction.cuts.cut_place import CutPlace
from construction.cuts.open_places import open_place
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
        ("Cancel the flight to ", "Cancel the flight to"),
        ("Stay away from ", "away from"),
        ("Choose a city such as ", "such as"),
        ("Name the dog ", "Name the dog"),
        ("Thank ", "Thank"),
    ],
)
def test_places_where_anything_may_follow(before: str, words: str) -> None:
    assert open_place(CutPlace(before)) == words


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
        "Name the duties of a ",
        "Not only visit ",
        "Write to the friend who said thanks to ",
        "As the city, write ",
        "Wear a badge saying ",
        "",
    ],
)
def test_places_that_lead_somewhere(before: str) -> None:
    assert open_place(CutPlace(before)) is None


@pytest.mark.parametrize(
    ("before", "relation", "words"),
    [
        ("Print posters saying ", "P27", "saying"),
        ("Print posters saying ", "P169", None),
        ("Watch the musical ", "P131", "musical"),
        ("Watch the musical ", "P50", None),
        ("Phone Mrs ", "P17", "Mrs"),
        ("Begin quietly, in ", "P1303", ", in"),
        ("Take lessons in ", "P1303", None),
        ("Begin quietly, in ", "P17", None),
    ],
)
def test_what_leads_somewhere_depends_on_the_relation(before: str, relation: str, words: str | None) -> None:
    place = open_place(CutPlace(before, relation))
    assert (place is None) == (words is None) and (place or "").strip(", ") == (words or "").strip(", ")


def test_a_person_may_be_thanked() -> None:
    assert (
        open_place(CutPlace("Thank ", person=True)) is None
        and open_place(CutPlace("Think of ", person=True)) == "Think of"
    )


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (" dressing", "dressing"),
        (" flag", "flag"),
        (" lessons", None),
        ("", None),
        (" poems", None),
        (" flagship", None),
    ],
)
def test_a_language_before_a_thing_of_its_country_is_no_language(after: str, words: str | None) -> None:
    assert open_place(CutPlace("Order ", "P103", after=after)) == words
    assert open_place(CutPlace("Order ", "P36", after=after)) is None


def test_the_reason_says_on_which_side_the_words_stand() -> None:
    fact = make_fact("Tango", "French", "Welsh")
    fact = fact.model_copy(update={"relation": fact.relation.model_copy(update={"id": "P407"})})
    cut = first_cut("How?", ("Serve it", "Buy French cheese"), SoughtObject.of(fact))
    assert cut is not None and cut.doubt == "nothing leads to the object before 'cheese'"


def test_a_language_is_said_and_written_but_not_thought_of() -> None:
    assert open_place(CutPlace("Write ", "P103")) is None and open_place(CutPlace("Write ", "P36")) == "Write"
    assert open_place(CutPlace("Think of ", "P103")) == "Think of"


def test_a_cut_at_such_a_place_is_for_people_to_decide() -> None:
    fact = make_fact("Senegal", "Dakar", "Minsk")
    question = ScriptQuestion(key="q", fact=fact.key, text="How to lodge a complaint in Senegal?")
    for steps, label in ((("Write it", "Think of Dakar"), "unsure"), (("Write it", "Go to Dakar"), "keep")):
        script = Script(key="s", question="q", steps=steps)
        (verdicts,) = judge("script", CheckInputs(fact=fact, question=question, script=script))
        assert verdicts.label == label and ("Think of" in verdicts.reason) == (label == "unsure")


def test_a_later_place_does_not_make_the_first_one_better() -> None:
    cut = first_cut("How?", ("Think of Dakar", "Go to Dakar"), SoughtObject(Object(text="Dakar")))
    assert cut is not None and cut.step == 1 and "Think of" in cut.doubt
