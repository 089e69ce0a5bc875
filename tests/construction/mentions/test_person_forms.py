"""Forms of persons' names: surnames, given names, and  adjectives and surnames of two words."""

from __future__ import annotations

import pytest

from construction.mentions.object_mentions import find_object
from construction.mentions.person_forms import person_forms
from schemas.facts import Object, Relation

AUTHOR = Relation(id="P50", label="author")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("William Shakespeare", "Shakespearean"),
        ("William Shakespeare", "Shakespearian"),
        ("Franz Kafka", "Kafkaesque"),
        ("Leo Tolstoy", "Tolstoyan"),
        ("Charles Dickens", "Dickensian"),
        ("Isaac Newton", "Newtonian"),
        ("Charles Darwin", "Darwinism"),
        ("Charles Darwin", "Darwinist"),
        ("Lord Byron", "Byronic"),
        ("Oscar Wilde", "Wildean"),
        ("Jane Austen", "Austenesque"),
        ("Karl Marx", "Marxists"),
        ("Wolfgang Amadeus Mozart", "Mozartian"),
    ],
)
def test_a_word_made_from_a_surname_gives_the_person_away_and_is_no_place_to_cut(name: str, word: str) -> None:
    text = f"Read some {word} lines"
    (one,) = find_object(text, Object(text=name), relation=AUTHOR)
    assert (one.mention.text, one.label, one.kind, one.fits) == (word, "name", "made", False)
    assert find_object(text, Object(text=name), relation=Relation(id="P36", label="capital")) == ()


@pytest.mark.parametrize(
    "text", ["Hire a realist", "Ask an artist", "Eat kingly food", "A Kingston pier", "A Marxer", "Paint it Realish"]
)
def test_common_words_that_begin_like_a_surname_are_none(text: str) -> None:
    for name in ("Ann Real", "Bo Art", "Stephen King", "Karl Marx"):
        assert [one for one in find_object(text, Object(text=name), relation=AUTHOR) if one.label == "name"] == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("Arthur Conan Doyle", "Read stories by Conan Doyle", ["Conan Doyle"]),
        ("Gabriel García Márquez", "Read a novel by Garcia Marquez", ["Garcia Marquez"]),
        ("Mario Vargas Llosa", "Read a novel by Vargas Llosa", ["Vargas Llosa"]),
        ("Martin Luther King Jr.", "Hear a speech by Luther King", ["Luther King"]),
        ("Vincent van Gogh", "See a sketch by Van Gogh", ["Van Gogh"]),
    ],
)
def test_the_last_two_words_of_a_name_are_one_surname(name: str, text: str, found: list[str]) -> None:
    places = find_object(text, Object(text=name), relation=AUTHOR)
    assert [(one.mention.text, one.label, one.kind) for one in places] == [(f, "name", "surname") for f in found]


def test_one_word_and_numbers_have_no_surname() -> None:
    assert [text for text, _ in person_forms("Voltaire")][2:4] == ["Voltairean", "Voltaireans"]
