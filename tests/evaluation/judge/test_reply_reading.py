"""Replies of another shape: what is plain is read and put on record, what is not stays unread."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from evaluation.judge.reply_reading import is_refusal, plain_reply, points, rating_alone, rating_place
from evaluation.judge.steps import QuotesFirst, RatingFirst, RatingOnly
from evaluation.judge.weighted_score import weighted_rating

ODD = ["true", "false", "null", "8", "0", "4.5", '"4 or 5"', '"5/10"', '"five"', "[5]", "-5"]


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_plain_rating_is_none(text: str) -> None:
    for kind, more in ((RatingOnly, ""), (RatingFirst, ', "reason": "r"')):
        with pytest.raises(ValidationError):
            kind.model_validate_json(f'{{"rating": {text}{more}}}')


@pytest.mark.parametrize(("text", "value"), [('"5"', 5), ('"5/7"', 5), ('"6 out of 7"', 6), ("7.0", 7), ('" 1 "', 1)])
def test_a_plain_rating_is_read_and_on_record(text: str, value: int) -> None:
    first = RatingFirst.model_validate_json(f'{{"rating": {text}, "reason": "r"}}')
    assert first.rating == value and f"read as {value}" in first.read_as


def test_keys_that_nobody_asked_for_are_passed_over_and_named() -> None:
    first = RatingFirst.model_validate_json('{"rating": 5, "reason": "r", "confidence": 0.9, "aspect": "x"}')
    assert first.rating == 5 and first.read_as == "passed over: confidence, aspect"
    assert RatingFirst.model_validate_json('{"rating": 5, "reason": "r"}').read_as == ""
    assert RatingOnly.model_validate_json("5").read_as == "the bare rating 5"
    for kind in (RatingFirst, QuotesFirst):
        with pytest.raises(ValidationError):
            kind.model_validate_json("5")


def test_what_is_asked_for_has_not_changed() -> None:
    """The schema goes into requests, and requests are keys of journals."""
    schema = RatingFirst.model_json_schema()
    assert schema["additionalProperties"] is False and list(schema["properties"]) == ["rating", "reason"]
    assert schema["properties"]["rating"]["enum"] == [1, 2, 3, 4, 5, 6, 7]


def test_one_object_decides_rating_and_score() -> None:
    """The first object is read; the score used to come from the last rating in the text."""
    text = '{"rating": 2, "reason": "r"} If it were edited: {"rating": 6, "reason": "r"}'
    assert rating_place(text, 2) == text.index("2") and rating_place(text, 6) == text.index("6")
    assert rating_place(text, 4) is None and rating_place("no object", 4) is None
    assert rating_place('<think>{"rating": 3}</think>{"rating": 3}', 3) == 39
    tokens = [{"token": c, "logprob": 0.0, "top_logprobs": [{"token": c, "logprob": math.log(0.9)}]} for c in text]
    assert weighted_rating(tokens, 2).score == 2.0 and weighted_rating(tokens, 6).score == 6.0
    assert weighted_rating(tokens, 4) is None


def test_a_refusal_in_words_is_one() -> None:
    assert is_refusal("I cannot rate this content.") and is_refusal("As an AI, I do not judge.")
    assert not is_refusal("The script cannot be followed: rating five.") and not is_refusal("")


@pytest.mark.parametrize(
    "text",
    [
        "I\N{RIGHT SINGLE QUOTATION MARK}m sorry, but I can\N{RIGHT SINGLE QUOTATION MARK}t rate this.",
        "I apologize, but this is against policy.",
        "I must refuse.",
        "I am not comfortable rating this.",
        "As a language model, I have no opinion.",
        "I'd rather not.",
    ],
)
def test_a_refusal_with_typographic_quotes_or_other_words_is_one(text: str) -> None:
    """Chat models write the typographic apostrophe."""
    assert is_refusal(text)


@pytest.mark.parametrize(("text", "value"), [("5", 5), ('"5/7"', 5), ("6 out of 7", 6), ('{"rating": "4"}', 4)])
def test_a_rating_alone_is_one(text: str, value: int) -> None:
    reply = rating_alone(text)
    assert reply.data == value and reply.read.endswith("without a reason")


@pytest.mark.parametrize("text", ["true", '{"rating": true}', "5 or 6", "5/10", "", "[5]", '{"rating": 5, "x": 1}'])
def test_anything_else_is_no_rating_alone(text: str) -> None:
    assert rating_alone(text).data is None


@pytest.mark.parametrize(
    "text",
    [
        '{"rating": 5, "reason": "It names the new',
        '{"rating": "5/7", "reason": "It says \\"Rome\\" and',
        '{ "rating" : 5 ,\n "rea',
        '{"rating": 5, "reason":',
        '{"rating": 5,',
        '<think>2?</think>{"rating": 5, "reason": "It {names} 1, 2',
        '{"rating": 5, "reason": "It ends in \\',
    ],
)
def test_a_rating_before_the_place_where_a_reply_breaks_off_counts(text: str) -> None:
    found = rating_alone(text)
    assert (found.data, found.read) == (5, "the rating of a reply that breaks off in its reason")


@pytest.mark.parametrize(
    "text",
    [
        '{"rating": 5',  # perhaps 5.5
        '{"rating": "5',
        '{"rating": true, "reason": "It',
        '{"rating": 8, "reason": "It',
        '{"rating": 5 or 6, "reason": "It',
        '{"evidence": ["a"], "rating": 5, "reason": "It',
        '{"rating": 5, "reason": "whole"}',
        'I would say {"rating": 5, "reason": "It',
    ],
)
def test_what_breaks_off_elsewhere_is_no_rating(text: str) -> None:
    assert rating_alone(text).data is None


def test_shapes_that_are_no_object_are_left_alone() -> None:
    assert plain_reply([1, 2], ("rating",)) == ([1, 2], "") and plain_reply(None, ("rating", "reason")) == (None, "")
    assert points(math.pi) is None and points(None) is None


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1e308, 10**400, -0.0, 0, 7.0000001])
def test_numbers_that_are_no_rating_end_nothing(value: float) -> None:
    """``{"rating": 1e999}`` ended the whole judging with an overflow."""
    assert points(value) is None
    assert plain_reply({"rating": value}, ("rating", "reason")).read == ""


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ('{"all": [{"rating": 2}, {"rating": 3}], "rating": 5}', '{"all": [{"rating": 2}, {"rating": 3}], "rating": '),
        ('{"detail": {"rating": 4}, "rating": "5"}', '{"detail": {"rating": 4}, "rating": "'),
        ('{"rating": 2, "rating": 5}', '{"rating": 2, "rating": '),
        ('{"rating": 5, "detail": {"rating": 5}}', '{"rating": '),
        (r'{"reason": "no \"rating\": 1 {", "rating": 5}', r'{"reason": "no \"rating\": 1 {", "rating": '),
    ],
)
def test_the_digit_is_that_of_the_objects_own_rating(text: str, before: str) -> None:
    """A rating inside another object, or an earlier one under the same key, decided the weighted score."""
    assert rating_place(text, 5) == len(before)
