"""A number with its noun."""

from __future__ import annotations

import pytest

from schemas.text.counting import counted


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 cases"),
        (1, "1 case"),
        (-1, "-1 cases"),
        (2, "2 cases"),
        (999, "999 cases"),
        (1_234_567, "1,234,567 cases"),
    ],
)
def test_one_is_one_and_everything_else_is_several(number: int, text: str) -> None:
    assert counted(number, "case") == text


@pytest.mark.parametrize(("number", "text"), [(1, "1 person"), (2, "2 people"), (0, "0 people")])
def test_a_plural_of_its_own(number: int, text: str) -> None:
    assert counted(number, "person", "people") == text
