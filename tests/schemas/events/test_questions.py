from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.support.events import make_fact_question, make_tendency


@pytest.mark.parametrize(("answer", "unknown"), [("unknown", True), ("Unknown", True), ("the unknown soldier", False)])
def test_unknown_is_the_whole_answer(answer: str, unknown: bool) -> None:
    assert make_fact_question(answer=answer).unknown is unknown


def test_nothing_becomes_unknown_out_of_scope() -> None:
    with pytest.raises(ValidationError, match="in scope: out of scope nothing changes"):
        make_fact_question(answer="unknown", scope="out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": ()}, "at least 3"),
        ({"options": ("Rise", "Fall")}, "at least 3"),
        ({"options": ("Rise", "Fall", "Stay", "Vanish")}, "at most 3"),
        ({"options": ("Rise", "rise.", "Stay")}, "'Rise'.*three different ones"),
        ({"options": ("Rise", "", "Stay")}, "empty"),
        ({"answer": "D"}, "'A', 'B' or 'C'"),
        ({"answer": "Rise"}, "'A', 'B' or 'C'"),
        ({"scope": "maybe"}, "'in' or 'out'"),
    ],
)
def test_options_are_three_different_ones_with_the_answer_among_them(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make_tendency(**change)


def test_the_right_option_stands_behind_its_letter() -> None:
    question = make_tendency(answer="B")
    assert question.right_option == question.options[1] == "They fall"
