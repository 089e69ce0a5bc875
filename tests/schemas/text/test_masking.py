"""A subject is hidden by its names and by their capitalised words, and nothing else is."""

from __future__ import annotations

import pytest

from schemas.facts import Entity
from schemas.text.masking import mask, parts

YORK = Entity(text="New York", aliases=("NYC",))


@pytest.mark.parametrize(
    ("entity", "words"),
    [
        (Entity(text="Peru"), ()),
        (Entity(text="Ludwig van Beethoven"), ("Ludwig", "Beethoven")),
        (Entity(text="Al B. Sure"), ("Sure",)),
        (Entity(text="Jean-Luc O'Neil", aliases=("Captain Jean-Luc",)), ("Jean-Luc", "O'Neil", "Captain")),
        (Entity(text="the who"), ()),
        (Entity(text="東京 タワー"), ()),
    ],
    ids=["one word", "small words", "short words", "joined words", "no capital", "no capitals in the script"],
)
def test_words_that_can_stand_for_an_entity(entity: Entity, words: tuple[str, ...]) -> None:
    assert parts(entity) == words


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("", ""),
        ("Buy a new map", "Buy a new map"),
        ("New maps of York", "X maps of X"),
        ("New York and NYC's parks", "X and X's parks"),
        ("NEW YORK, new-york", "X, X"),
        ("Newark and Yorkshire", "Newark and Yorkshire"),
        ("New New York", "X X"),
    ],
    ids=["empty", "small letter", "parts", "aliases", "folded", "inside words", "beside the name"],
)
def test_what_is_hidden(text: str, masked: str) -> None:
    assert mask(text, YORK) == masked


def test_a_name_of_pattern_signs_is_a_name() -> None:
    assert mask("Play (A+)* Band or Band.*", Entity(text="(A+)* Band")) == "Play X or X.*"


def test_another_mask_is_put_in_as_it_is() -> None:
    assert mask("Peru, Peru", Entity(text="Peru"), by=r"\1 {}") == r"\1 {}, \1 {}"
