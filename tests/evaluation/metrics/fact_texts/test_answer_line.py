"""Written answers as read: every border of first, mixed, exact, natural and degenerate."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.metrics.fact_texts import read_answer
from schemas.answers import GeneratedText
from schemas.facts import Object

NEW, OLD = Object(text="New York City", aliases=("NYC", "New York")), Object(text="York")


def text(words: str, ended: Any = "length") -> GeneratedText:
    return GeneratedText(text=words, tokens=5, ended=ended)


CASES = [
    pytest.param(" New York City.\nAnd", ("new", False, True, True, True, False), id="exact, ended by a new line"),
    pytest.param(' "NYC"', ("new", False, True, True, False, False), id="another name in quotes, cut by the limit"),
    pytest.param(" New York, a town", ("new", False, True, False, False, False), id="goes on: begins, not exact"),
    pytest.param(" the town of New York", ("new", False, False, False, False, False), id="named later"),
    pytest.param(" York, not New York", ("old", True, False, False, False, False), id="both, the other one first"),
    pytest.param(" New Yorkshire", ("neither", False, False, False, False, False), id="part of a word is no name"),
    pytest.param("\n\n New York\nYork", ("new", False, True, True, True, False), id="empty lines before the answer"),
    pytest.param("", ("neither", False, False, False, False, True), id="nothing written"),
    pytest.param("  \n ", ("neither", False, False, False, False, True), id="spaces only"),
    pytest.param(" NYC NYC NYC NYC", ("new", False, True, False, False, True), id="repeats itself"),
    pytest.param(" ...", ("neither", False, False, False, False, False), id="signs only"),
]


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_read_by_hand(words: str, expected: tuple[Any, ...]) -> None:
    answer = read_answer(text(words), NEW, OLD)
    read = (answer.first, answer.mixed, answer.begins, answer.exact, answer.natural, answer.degenerate)
    assert read == expected


def test_an_end_token_and_a_stop_text_are_natural_ends() -> None:
    ends = {ended: read_answer(text(" NYC", ended), NEW, OLD).natural for ended in ("eos", "stop", "length")}
    assert ends == {"eos": True, "stop": True, "length": False}
