"""Samples, second looks and retests."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from evaluation.judge.judging import JudgeOptions
from tests.support.evaluation.judged import ask
from tests.support.judge import ASK
from tests.support.scripted_server import Raw, ScriptedServer, completion


def test_several_samples_and_a_second_look(tmp_path):
    """The lower median is the rating, the mean the score, one unusable sample of three is counted; then one more."""
    replies = iter(["6", "2", "0", "0", "5"])  # the third is sent back once and stays unusable

    def answer(payload):
        return json.dumps({"rating": int(next(replies)), "reason": "x"})

    options = JudgeOptions(samples=3, retest=1.0, logprobs=False)
    with ScriptedServer(answer) as server:
        result = ask(server, tmp_path, settings=options, concurrency=1)
        assert all(r["temperature"] == 1.0 for r in server.requests)
        repeat = ask(server, tmp_path, settings=options, concurrency=1)
        assert len(server.requests) == 5 and repeat.asked == 0, "the journal answers"
    scored = sorted(v for v in result.line.detail["samples"] if v is not None)
    assert result.rating.value == scored[0] and len(result.line.detail["samples"]) == 3
    assert result.line.detail["score"] == sum(scored) / len(scored)
    assert "retest" in result.line.detail and repeat.rating == result.rating


def test_a_majority_of_unusable_samples_is_unscored(tmp_path):
    replies = iter(["6", "0", "0", "0", "0"])
    with ScriptedServer(lambda p: json.dumps({"rating": int(next(replies)), "reason": "x"})) as server:
        result = ask(server, tmp_path, settings=JudgeOptions(samples=3, retest=0.0, logprobs=False), concurrency=1)
    assert result.rating.value is None and result.rating.reason.startswith("2 of 3 samples unscored: no usable reply")


def test_retests_are_drawn_from_the_item():
    options = JudgeOptions(retest=0.05)
    decisions = [options.again(replace(ASK, item=f"i{n}")) for n in range(4000)]
    assert 0.035 < sum(decisions) / 4000 < 0.065
    assert not any(JudgeOptions(retest=0.0).again(ASK) for _ in range(3)) and JudgeOptions(retest=1.0).again(ASK)


def test_a_bare_rating_is_asked_about_once_and_then_read(tmp_path):
    """It was paid for twice and lost; evidence is never read into a reply without it."""
    with ScriptedServer(lambda p: "5/7") as server:
        result = ask(server, tmp_path, settings=JudgeOptions(retest=0.0))
        assert len(server.requests) == 2
    assert (result.rating.value, result.rating.reason) == (5, "")
    assert result.line.detail["read"] == ["the rating '5/7' without a reason"]
    with ScriptedServer(lambda p: "5/7") as server:
        strict = ask(server, tmp_path, settings=JudgeOptions(profile="evidence", retest=0.0))
    assert strict.rating.value is None


def test_a_reply_that_breaks_off_is_asked_about_once_and_then_read(tmp_path):
    cut = '{"rating": 5, "reason": "The script names the new'
    with ScriptedServer(lambda p: cut) as server:
        done = ask(server, tmp_path, settings=JudgeOptions(retest=0.0))
        assert len(server.requests) == 2
    assert done.rating.value == 5
    assert done.line.detail["read"] == ["the rating of a reply that breaks off in its reason"]


def test_a_reply_that_breaks_off_in_its_rating_stays_unscored(tmp_path):
    with ScriptedServer(lambda p: '{"rating": 5') as server:
        lost = ask(server, tmp_path, settings=JudgeOptions(retest=0.0))
    assert lost.rating.value is None, "5 may be the beginning of 5.5"


def test_a_draft_without_a_reason_does_not_decide_the_score(tmp_path):
    """The rating was read from the second object, the score from the first one with the same digit."""
    draft, final = '{"rating": 5} ', '{"rating": 5, "reason": "r"}'

    def tokens(text, chance):
        other = {"token": "1", "logprob": math.log(1 - chance)}
        most = {"5": [{"token": "5", "logprob": math.log(chance)}, other]}
        return [{"token": c, "logprob": 0.0, "top_logprobs": most.get(c, [])} for c in text]

    def answer(payload):
        body = completion(draft + final)
        body["choices"][0]["logprobs"] = {"content": tokens(draft, 0.6) + tokens(final, 0.9)}
        return Raw(body=body)

    with ScriptedServer(answer) as server:
        result = ask(server, tmp_path, settings=JudgeOptions(retest=0.0))
    assert result.rating.value == 5 and result.line.detail["score"] == 0.9 * 5 + 0.1 * 1


@pytest.mark.parametrize(
    "first",
    [
        'First {"rating": 2, "reason": "a draft"} but on reflection: {"rating": 6, "reason": "it works"}',
        'You asked for {"rating": 1, "reason": "..."}. Mine: {"rating": 6, "reason": "it works"}',
    ],
)
def test_a_reply_with_two_ratings_is_asked_again(tmp_path, first):
    """The first rating was taken without a note (two_ratings_reply.json of the public reports)."""
    replies = iter([first, '{"rating": 6, "reason": "it works"}'])
    with ScriptedServer(lambda p: next(replies)) as server:
        result = ask(server, tmp_path, settings=JudgeOptions(retest=0.0))
        assert len(server.requests) == 2
    assert result.rating.value == 6
