"""Boundaries and subject places, found by characters."""

from __future__ import annotations

import pytest

from evaluation.tokens import encode_at, encode_target
from schemas.errors import UserError
from tests.evaluation.tiny import tokenizer

PLACES = {
    "inside": ("The capital of Peru is", "Peru"),
    "at the start": ("Peru is a country", "Peru"),
    "at the end": ("Fly to Peru", "Peru"),
    "several words": ("The Gulf of Guinea is wide", "Gulf of Guinea"),
    "letters of several bytes": ("He was born in São Tomé, a city", "São Tomé"),
    "before a bracket": ("Go (to Peru) now", "Peru"),
}


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("name", PLACES)
def test_last_token_of_the_subject(name: str, bos: bool) -> None:
    text, subject = PLACES[name]
    end = text.index(subject) + len(subject)
    placed = encode_at(tokenizer(bos), text, end=end)
    spans = tokenizer(bos)(text, return_offsets_mapping=True)["offset_mapping"]
    begin, stop = spans[placed.last]
    assert begin < end <= stop


def test_no_subject() -> None:
    with pytest.raises(UserError, match="no token of the subject"):
        encode_at(tokenizer(True), "Peru", end=0)


@pytest.mark.parametrize("separator", [" ", "\n", ' "', " (", ""])
def test_target_begins_where_its_characters_begin(separator: str) -> None:
    got = encode_target(tokenizer(False), "Fly to the city:", "Lima", separator=separator)
    text = tokenizer(False).decode(list(got.target))
    assert text.endswith("Lima") and text.strip(' "(\n') == "Lima"
    assert tokenizer(False).decode(list(got.ids)) == f"Fly to the city:{separator}Lima"


def test_empty_target() -> None:
    with pytest.raises(ValueError, match="no token of the text"):
        encode_target(tokenizer(False), "Fly to", "", separator=" ")
