"""Scores weighted by the endpoint's log-probabilities."""

from __future__ import annotations

import math

import pytest

from evaluation.judge.weighted_score import weighted_rating


def alternatives(**chances):
    return [{"token": t, "logprob": math.log(p)} for t, p in chances.items()]


WEIGHTS = {
    "none": (None, None),
    "no tokens": ([], None),
    "no rating": ([{"token": "hello"}], None),
    "no alternatives": ([{"token": '{"rating": '}, {"token": "5", "logprob": -0.1}], None),
    "too little mass": (
        [{"token": '{"rating": '}, {"token": "5", "top_logprobs": [{"token": "5", "logprob": -3.0}]}],
        None,
    ),
    "a positive logprob": (
        [{"token": '{"rating": '}, {"token": "5", "top_logprobs": [{"token": "5", "logprob": 3.0}]}],
        None,
    ),
    "a space in the token": (
        [
            {"token": '{"rating":'},
            {"token": " 5", "top_logprobs": alternatives(**{" 5": 0.5, "3": 0.5})},
        ],
        4.0,
    ),
    "the digit beside the comma": (
        [
            {"token": '{"rating": '},
            {"token": "5,", "top_logprobs": alternatives(**{"5,": 0.6, "6,": 0.3, "6}": 0.1})},
        ],
        (5 * 0.6 + 6 * 0.3) / 0.9,
    ),
    "a rating in the reason does not count": (
        [
            {"token": '{"rating": '},
            {"token": "5", "top_logprobs": [{"token": "5", "logprob": math.log(0.9)}]},
            {"token": ', "reason": "a 1 or 2"}'},
        ],
        5.0,
    ),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(name):
    tokens, score = WEIGHTS[name]
    rating = weighted_rating(tokens)
    assert (rating is None) if score is None else (rating.score == pytest.approx(score))
