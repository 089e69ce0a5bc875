"""Families of words that give the object another part than the question asks for, each beside what looks like it."""

from __future__ import annotations

import pytest

from construction.cuts.cut_place import CutPlace
from construction.cuts.other_roles import other_role


@pytest.mark.parametrize(
    ("before", "relation", "words"),
    [
        ("Pretend to be in ", "P131", "Pretend to be in"),
        ("Dress up as an ", "P106", "Dress up as an"),
        ("If in ", "P36", "If in"),
        ("Call us if you pass ", "P36", "if you pass"),
        ("Love ", "P495", "Love"),
        ("Secretly envy ", "P54", "Secretly envy"),
        ("Answer ", "P131", "Answer"),
        ("Underline '", "P159", "Underline"),
        ("Greet the rival of ", "P6", "rival of"),
        ("Recall your honeymoon in ", "P131", "honeymoon in"),
        ("Serve cheese from ", "P36", "Serve cheese from"),
        ("Meet tourists from ", "P131", "tourists from"),
        ("Catch the bus from ", "P131", "bus from"),
        ("Get off two stops before ", "P36", "stops before"),
        ("Read about Peru and ", "P17", "and"),
        ("Feed a cat named ", "P50", "cat named"),
        ("Lend your son ", "P17", "your son"),
        ("Thank your aunt, an ", "P106", "your aunt, an"),
        ("Share the photos on ", "P127", "Share the photos on"),
        ("Beat the ", "P407", "Beat the"),
        ("Win at air ", "P1303", "air"),
        ("Trip over a ", "P1303", "Trip over a"),
        ("Raise a glass to ", "P495", "glass to"),
        ("Stroke a ", "P277", "a"),
    ],
)
def test_words_before_that_give_the_object_another_part(before: str, relation: str, words: str) -> None:
    assert other_role(CutPlace(before, relation)) == words


@pytest.mark.parametrize(
    ("before", "relation"),
    [
        ("If it rains, drive to ", "P36"),
        ("Answer the call from ", "P131"),
        ("Hire a driver from ", "P17"),
        ("Eat soup from ", "P495"),
        ("Ride the tram between Brno and ", "P131"),
        ("Travel to a city named ", "P36"),
        ("Ask for a date with ", "P127"),
        ("Translate the ", "P407"),
        ("Tune the ", "P1303"),
        ("Audition as an ", "P106"),
        ("Pack and ", "P36"),
        ("Log in with ", "P178"),
        ("Take lessons in ", "P277"),
    ],
)
def test_what_looks_like_it_and_leads_to_the_object(before: str, relation: str) -> None:
    assert other_role(CutPlace(before, relation)) is None


@pytest.mark.parametrize(
    ("before", "after", "relation", "person", "words"),
    [
        ("Dust a bust of ", "'s predecessor", "P35", True, "predecessor"),
        ("Drink up in the ", " pub", "P50", True, "pub"),
        ("", " the nearest clinic", "P178", False, "the"),
        ("Ask ", " the price", "P178", False, None),
        ("Ask ", "'s mother tongue teachers", "P35", True, "mother"),
        ("Stroke a ", " tests", "P277", False, None),
    ],
)
def test_words_after(before: str, after: str, relation: str, person: bool, words: str | None) -> None:
    assert other_role(CutPlace(before, relation, after=after, person=person)) == words


def test_persons_may_be_admired_and_poured() -> None:
    assert (
        other_role(CutPlace("Admire ", "P50", person=True)) is None
        and other_role(CutPlace("Admire ", "P69")) == "Admire"
    )
    assert other_role(CutPlace("Pour a glass of ", "P57", person=True)) == "glass of"


def test_what_holds_of_some_relations_is_asked_of_them_only() -> None:
    assert (
        other_role(CutPlace("Meet tourists from ", "P27")) is None
        and other_role(CutPlace("Share it on ", "P36")) is None
    )
    assert other_role(CutPlace("Stroke a ", "P1303")) is None and other_role(CutPlace("Beat the ", "P36")) is None
