from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from schemas.core.records import stored_text
from schemas.events.questions import FactQuestion
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


LEAGUE = {"text": "In which league does Brenta play?", "answer": {"text": "Second League"}}


def test_a_question_without_background_questions_is_stored_as_before_there_were_any() -> None:
    question = make_fact_question(background=True, path=("P118",))
    assert question.id == "a15538f46af9270c70bd", "the id of the version before the field"
    for text in (stored_text(question), question.canonical(), json.dumps(question.payload())):
        assert "background_questions" not in json.loads(text)
    asked = make_fact_question(background=True, path=("P118",), background_questions=[LEAGUE])
    assert asked.id != question.id and asked.background_questions[0].answer.text == "Second League"
    assert FactQuestion.model_validate_json(stored_text(asked)) == asked
    assert FactQuestion.model_validate_json(stored_text(question)) == question


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"background": False}, "a question in scope whose 'background' is true"),
        ({"scope": "out"}, "a question in scope whose 'background' is true"),
        ({"background_questions": [LEAGUE, LEAGUE]}, "asks what is asked already"),
        ({"text": LEAGUE["text"].upper()}, "asks what is asked already"),
        ({"background_questions": [{"text": "Who leads it?", "answer": {"text": "Unknown"}}]}, "is never unknown"),
        ({"background_questions": [{"text": " ", "answer": {"text": "Peru"}}]}, "white space"),
        ({"background_questions": [{"text": "Who leads it?"}]}, "answer"),
    ],
)
def test_background_questions_are_faultless_or_refused(change: dict[str, object], message: str) -> None:
    fields = {"background": True, "background_questions": [LEAGUE]} | change
    with pytest.raises(ValidationError, match=message):
        make_fact_question(**fields)
