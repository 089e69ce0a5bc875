"""ROUGE-1 by hand, and the form in which texts are compared."""

from __future__ import annotations

import pytest

from curation.similarity.texts import rouge1_f, words
from schemas.core.plain_text import plain_text


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ("the cat sat", "the cat sat", 1.0),
        ("the cat sat", "sat cat the", 1.0),  # unigrams have no order
        ("a b c d", "a b x y", 0.5),  # 2·2/8
        ("the the the", "the", 0.5),  # clipped: 2·1/4
        ("the the", "the the the the", 2 / 3),  # clipped: 2·2/6
        ("How, can I?", "how CAN i", 1.0),
        ("São Paulo", "Sao Paulo", 1.0),
        ("don't", "dont", 0.0),  # don + t against dont
        ("東京へ", "東京", 0.8),  # each character a word
        ("", "", 0.0),
        ("?!", "?!", 0.0),
        ("abc", "", 0.0),
    ],
)
def test_rouge1_by_hand(a: str, b: str, value: float) -> None:
    assert rouge1_f(a, b) == rouge1_f(b, a) == pytest.approx(value)


def test_plain_text_keeps_what_tells_names_apart() -> None:
    assert plain_text("C++") != plain_text("C") != plain_text("C#")
    assert plain_text(" The  Hague. ") == plain_text("the hague")
    assert plain_text("?!") == "?!", "a text without a letter is still itself"


def test_words_are_as_stated() -> None:
    assert words("Step 1: Book_it, 2nd-class!") == ["step", "1", "book_it", "2nd", "class"]
