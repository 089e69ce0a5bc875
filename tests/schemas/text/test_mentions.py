from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.facts import Object
from schemas.text.mentions import find, first

CASES = [
    ("plain", "Fly to Rome now", "Rome", (), ["Rome"]),
    ("case", "fly to ROME", "Rome", (), ["ROME"]),
    ("possessive", "Rome's gates", "Rome", (), ["Rome"]),
    ("curly possessive", "Rome\u2019s gates", "Rome", (), ["Rome"]),
    ("plural", "two Hondas", "Honda", (), ["Honda"]),
    ("plural es", "the Ortizes", "Ortiz", (), ["Ortiz"]),
    ("inside a word", "a Roman chrome pot", "Rome", (), []),
    ("hyphen for space", "a New-York hotel", "New York", (), ["New-York"]),
    ("line break", "New\nYork", "New York", (), ["New\nYork"]),
    ("diacritics folded", "to Brasilia", "Brasília", (), ["Brasilia"]),
    ("diacritics added", "to Málaga", "Malaga", (), ["Málaga"]),
    ("decomposed", "to Brasi\u0301lia.", "Brasília", (), ["Brasi\u0301lia"]),
    ("alias", "the Eternal City", "Rome", ("Eternal City",), ["Eternal City"]),
    ("longest name wins", "the United States of America", "United States", ("United States of America",),
     ["United States of America"]),
    ("acronym keeps case", "ask us in the US", "United States", ("US",), ["US"]),
    ("acronym possessive", "the US's coast", "United States", ("US",), ["US"]),
    ("acronym no plural", "the USes", "United States", ("US",), []),
    ("dotted acronym", "in the U.S. today", "United States", ("U.S.",), ["U.S."]),
    ("no spaces", "我住在東京都", "東京", (), ["東京"]),
    ("punctuation", '("Rome")', "Rome", (), ["Rome"]),
    ("symbol at the end", "learn C++ now", "C++", (), ["C++"]),
    ("full width", "in Ｒｏｍｅ", "Rome", (), ["Ｒｏｍｅ"]),
    ("invisible joiner", "Ro\u200dme", "Rome", (), ["Ro\u200dme"]),
    ("twice", "Rome, Rome", "Rome", (), ["Rome", "Rome"]),
    ("sharp s", "in Gießen", "Giessen", (), ["Gießen"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "aliases", "names"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_mentions(text: str, name: str, aliases: tuple[str, ...], names: list[str]) -> None:
    mentions = find(text, Object(text=name, aliases=aliases))
    assert [m.text for m in mentions] == names
    for m in mentions:
        assert text[m.start : m.end] == m.text


@pytest.mark.parametrize(
    ("text", "count"), [("Dutch and dutch", 2), ("the Netherlands", 0), ("Dutch's", 1), ("Dutchman", 0)]
)
def test_literal_mode_knows_the_text_only(text: str, count: int) -> None:
    assert len(find(text, Object(text="Dutch", aliases=("Netherlands",)), literal=True)) == count


WORD = st.text("abcdefghij", min_size=4, max_size=8)


@given(before=st.lists(st.text("klmnopq", min_size=1, max_size=6)), name=WORD, after=st.lists(WORD))
def test_an_inserted_name_is_found_where_it_was_put(before: list[str], name: str, after: list[str]) -> None:
    text = " ".join([*before, name, *after])
    mention = first(text, Object(text=name))
    assert mention is not None
    assert mention.start == len(" ".join([*before, ""]))


@given(st.text(max_size=80), WORD)
def test_offsets_always_point_into_the_text(text: str, name: str) -> None:
    for m in find(text, Object(text=name)):
        assert 0 <= m.start < m.end <= len(text)
        assert text[m.start : m.end] == m.text
