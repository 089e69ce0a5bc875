"""What replies about open answers come to, aspect by aspect."""

from __future__ import annotations

import asyncio
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from construction.llm.client import Reply
from evaluation.judge.answers.judging import judge_answer, read_answer_sample
from evaluation.judge.answers.replies import TendencyRatings
from evaluation.judge.answers.steps import AnswerStep
from evaluation.judge.judging import JudgeOptions, aggregate_samples
from schemas.ratings import TENDENCY
from tests.evaluation.judge.answers.test_steps import ASK

STEP = AnswerStep.load(TENDENCY, "embedded", model="m")
ALLOWED = [(a, o) for a, o in product(range(1, 6), repeat=2) if not TENDENCY.fault({"accuracy": a, "overall": o})]


def reply(accuracy: int = 5, overall: int = 5, **more: Any) -> Reply:
    value = TendencyRatings(accuracy=accuracy, coherence=4, comprehensiveness=3, overall=overall)  # type: ignore[arg-type]
    return Reply("ok", value, "{}", "", "request", 10, 5, "2026-01-01T00:00:00Z", 1, 0.5)._replace(**more)


def unusable(**more: Any) -> Reply:
    return reply(status="unparseable", value=None, raw="...", message="overall: missing", **more)


class Client:
    """A client whose replies are given."""

    endpoint = SimpleNamespace(model="m")
    address = "here"

    def __init__(self, replies: list[Reply]) -> None:
        self.replies = replies

    async def samples(self, request: object, n: int) -> list[Reply]:
        """The first ``n`` replies."""
        assert len(self.replies) == n
        return self.replies


def judged(replies: list[Reply], **options: Any) -> list[Any]:
    settings = JudgeOptions(**{"retest": 0.0, "samples": len(replies), **options})
    return asyncio.run(judge_answer(STEP, ASK, Client(replies), settings))  # type: ignore[arg-type]


def test_every_aspect_is_a_rating_and_the_call_is_paid_once() -> None:
    rating = judged([reply(4, 5)])
    assert [(j.rating.aspect, j.rating.value) for j in rating] == [
        ("accuracy", 4), ("coherence", 4), ("comprehensiveness", 3), ("overall", 5),
    ]  # fmt: skip
    assert [(j.line.tokens_in, j.line.cost, j.asked) for j in rating] == [(10, 0.5, 1)] + [(None, None, 0)] * 3
    assert {j.line.detail["quality"] for j in rating} == {"plumbing"}


def test_an_endpoint_that_is_away_leaves_all_aspects_due() -> None:
    assert judged([reply(status="unanswered", value=None)]) == [None] * 4


def test_unscored_unless_more_than_half_of_the_samples_are_scored() -> None:
    two = judged([reply(), unusable(), reply()])
    assert [j.rating.value for j in two] == [5, 4, 3, 5]
    unscored_item = judged([reply(), unusable()])
    assert {j.rating.value for j in unscored_item} == {None}
    assert unscored_item[0].rating.reason.startswith("1 of 2 samples unscored: no usable reply: unparseable")


@pytest.mark.parametrize(
    ("raw", "overall"),
    [
        ('{"accuracy": 5, "coherence": 4, "comprehensiveness": 3, "overall": 4}', 4),
        ('{"accuracy": 3, "coherence": 4, "comprehensiveness": 3, "overall": 4}', None),
        ('{"accuracy": 5, "coherence": 4, "overall": 4}', None),
        ("I cannot rate this.", None),
    ],
)
def test_ratings_without_a_reason_count_and_nothing_else_is_forgiven(raw: str, overall: int | None) -> None:
    aspects = AnswerStep.load(TENDENCY, "paper", model="m").aspects
    sample = read_answer_sample(aspects[-1], unusable()._replace(raw=raw))
    assert sample.value == overall and bool(sample.why) == (overall is None)


def test_a_second_look_stands_beside_each_aspect() -> None:
    rating = judged([reply(4, 5), reply(5, 4)], samples=1, retest=1.0)
    assert [(j.rating.value, j.line.detail["retest"]) for j in rating] == [(4, 5), (4, 4), (3, 3), (5, 4)]


@pytest.mark.parametrize("samples", [2, 3])
def test_medians_of_replies_that_keep_to_the_rule_keep_to_it(samples: int) -> None:
    """All combinations of two and of three replies that the rule allows."""
    first, *_, last = STEP.aspects
    for combination in product(ALLOWED[:: 1 if samples == 2 else 2], repeat=samples):
        replies = [reply(a, o) for a, o in combination]
        looks = {x.aspect: (x, [read_answer_sample(x, r) for r in replies]) for x in (first, last)}
        medians = {name: aggregate_samples(x, ASK, some)[0].value for name, (x, some) in looks.items()}
        assert not TENDENCY.fault(medians), combination  # type: ignore[arg-type]
