"""Asking a judge about open answers: all aspects in one reply, samples, a second look at some, ratings with lineage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evaluation.judge.answers.inputs import AnswerInput
from evaluation.judge.answers.replies import REPLIES, AnswerReply
from evaluation.judge.answers.steps import AnswerAspect, AnswerStep
from evaluation.judge.judging import (
    JudgeOptions,
    JudgeRating,
    JudgeSample,
    aggregate_samples,
    rating_lineage,
    unasked_lineage,
    why_unusable,
)

if TYPE_CHECKING:
    from construction.llm.client import Client, Reply
    from construction.llm.step import Request


def answer_request(step: AnswerStep, ask: AnswerInput, options: JudgeOptions) -> Request:
    """What is asked about one answer."""
    return step.sampled(ask, temperature=options.temperature if options.samples > 1 else None)


async def judge_answer(
    step: AnswerStep, ask: AnswerInput, client: Client, options: JudgeOptions
) -> list[JudgeRating | None]:
    """The ratings of one answer, one an aspect; None for each where the endpoint is away, so that they stay due.

    Of several samples every aspect has its own lower median. Where each sample keeps to the rule "accuracy 3 or less,
    overall 3 or less", the medians do too: more than half of the samples are at most as high as each of them.
    """
    if why := step.cannot(ask):
        ratings = [aspect.unscored(ask, why) for aspect in step.aspects]
        return [JudgeRating(r, unasked_lineage(r, step, client, ask), 0) for r in ratings]
    again = options.again(ask)
    replies = await client.samples(answer_request(step, ask, options), options.samples + again)
    if any(r.status == "unanswered" for r in replies):
        return [None] * len(step.aspects)
    out: list[JudgeRating | None] = []
    for place, aspect in enumerate(step.aspects):
        looks = [read_answer_sample(aspect, r) for r in replies]
        rating, detail = aggregate_samples(aspect, ask, looks[: options.samples])
        if again:
            detail["retest"] = looks[-1].value
        if step.wording.quality:
            detail["quality"] = step.wording.quality
        line = rating_lineage(rating, step, client, replies, detail)
        if place:  # one call, whose tokens and dollars stand with the first aspect
            line = line.model_copy(update={"tokens_in": None, "tokens_out": None, "cost": None})
        out.append(JudgeRating(rating, line, 0 if place else sum(r.asked for r in replies)))
    return out


async def judge_answers(
    asks: Sequence[tuple[AnswerStep, AnswerInput]], client: Client, options: JudgeOptions
) -> list[JudgeRating | None]:
    """Rate answers at once, within the client's limits; all aspects of each, in their order."""
    from construction.llm.client import gather_all

    answered = await gather_all([judge_answer(step, ask, client, options) for step, ask in asks])
    return [rating for ratings in answered for rating in ratings]


def read_answer_sample(aspect: AnswerAspect, reply: Reply) -> JudgeSample:
    """What one reply says of an aspect. A judge that leaves the reason out, and does so when told, has still rated."""
    value = reply.value if reply.value is not None else _without_reason(aspect.step, reply)
    if value is None:
        return JudgeSample(None, why_unusable(reply), None, None)
    assert isinstance(value, AnswerReply)
    ratings: dict[Any, int] = value.ratings
    return JudgeSample(ratings[aspect.aspect], value.explanation, None, None, (), value.read_as)


def _without_reason(step: AnswerStep, reply: Reply) -> AnswerReply | None:
    """The ratings of a reply that cannot be used for its missing reason alone."""
    if reply.status != "unparseable":
        return None
    try:
        return REPLIES[step.wording.rubric, "rating"].model_validate_json(reply.raw)
    except ValidationError:
        return None
