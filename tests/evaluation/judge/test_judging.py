"""Samples, second looks and retests."""

from __future__ import annotations

import json
from dataclasses import replace

from evaluation.judge.judging import JudgeOptions
from tests.support.evaluation.judged import ask
from tests.support.judge import ASK
from tests.support.scripted_server import ScriptedServer


def test_several_samples_and_a_second_look(tmp_path):
    """The lower median is the rating, the mean the score, one unusable sample of three is counted; then one more."""
    replies = iter(["6", "2", "0", "0", "5"])  # the third is sent back once and stays unusable

    def answer(payload):
        return json.dumps({"rating": int(next(replies)), "reason": "x"})

    how = JudgeOptions(samples=3, retest=1.0, logprobs=False)
    with ScriptedServer(answer) as server:
        done = ask(server, tmp_path, settings=how, concurrency=1)
        assert all(r["temperature"] == 1.0 for r in server.requests)
        again = ask(server, tmp_path, settings=how, concurrency=1)
        assert len(server.requests) == 5 and again.asked == 0, "the journal answers"
    scored = sorted(v for v in done.line.detail["samples"] if v is not None)
    assert done.rating.value == scored[0] and len(done.line.detail["samples"]) == 3
    assert done.line.detail["score"] == sum(scored) / len(scored)
    assert "retest" in done.line.detail and again.rating == done.rating


def test_a_majority_of_unusable_samples_is_unscored(tmp_path):
    replies = iter(["6", "0", "0", "0", "0"])
    with ScriptedServer(lambda p: json.dumps({"rating": int(next(replies)), "reason": "x"})) as server:
        done = ask(server, tmp_path, settings=JudgeOptions(samples=3, retest=0.0, logprobs=False), concurrency=1)
    assert done.rating.value is None and done.rating.reason.startswith("2 of 3 samples unscored: no usable reply")


def test_retests_are_drawn_from_the_item():
    how = JudgeOptions(retest=0.05)
    drawn = [how.again(replace(ASK, item=f"i{n}")) for n in range(4000)]
    assert 0.035 < sum(drawn) / 4000 < 0.065
    assert not any(JudgeOptions(retest=0.0).again(ASK) for _ in range(3)) and JudgeOptions(retest=1.0).again(ASK)
