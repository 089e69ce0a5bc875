"""Asking a judge about a text: samples, a second look at some texts, one rating an aspect with its lineage."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field

from evaluation.judge.inputs import JudgeInput
from evaluation.judge.replies import JudgeReply, is_refusal, ratings_alone, reply_type, weighted_rating
from evaluation.judge.steps import JudgeStep, evidence_fault, prompt_folder, quoted_spans
from evaluation.judge.stored_ratings import JUDGE_STAGE
from schemas.core.clock import now
from schemas.core.config import Options
from schemas.core.ids import seed
from schemas.lineage import Lineage
from schemas.ratings import SCRIPT, Aspect, Rating, Rubric
from schemas.text.escaping import escape_line
from schemas.verdicts import Span

if TYPE_CHECKING:
    from construction.llm.client import Client, Reply
    from construction.llm.step import Request

_ALTERNATIVES = 20  # a token: what most endpoints give at most; digits 1 to 7 need seven


class JudgeOptions(Options):
    """How texts are judged.

    Attributes:
        profile: Wording: ``paper``, ``evidence`` or ``embedded``.
        aspects: What is rated of scripts; open answers are rated on all aspects of their rubric.
        samples: Replies to each question; their lower median is the rating, their mean the score.
        temperature: Of the samples, where there are several; a single reply is asked for as the wording says.
        retest: Share of the texts that are asked about once more, to see whether the judge repeats itself.
        logprobs: Ask for log-probabilities; an endpoint that has none is asked without them.
    """

    profile: str = "paper"
    aspects: tuple[Aspect, ...] = SCRIPT.aspects
    samples: Annotated[int, Field(ge=1, le=50)] = 1
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    retest: Annotated[float, Field(ge=0, le=1)] = 0.05
    logprobs: bool = True

    def again(self, ask: JudgeInput) -> bool:
        """Whether a text is looked at twice: drawn from its id, so that every judge looks twice at the same ones."""
        return seed("retest", ask.item) % 1_000_000 < self.retest * 1_000_000


class JudgeRating(NamedTuple):
    """A rating with its lineage; ``asked``: calls that went over the network."""

    rating: Rating
    line: Lineage
    asked: int


class JudgeSample(NamedTuple):
    """What one reply comes to for one aspect.

    Attributes:
        value: The rating; None where it is unscored.
        why: The judge's reason, or why it is unscored.
        score: Weighted by log-probabilities, and ``mass``: their share on the scale; None without them.
        evidence: Quotes, where they are in the text.
        read: What was read into a reply of another shape.
    """

    value: int | None
    why: str
    score: float | None = None
    mass: float | None = None
    evidence: Sequence[Span] = ()
    read: str = ""


def judge_steps(rubric: Rubric, options: JudgeOptions, *, rater: str) -> list[JudgeStep]:
    """What is asked about a text of a rubric: of scripts one step an aspect, of open answers one for all.

    Raises:
        UserError: no such profile, or a broken prompt file.
    """
    tasks = [f"{rubric.name}_{aspect}" for aspect in options.aspects] if rubric is SCRIPT else [rubric.name]
    return [JudgeStep(prompt_folder(rubric).load(task, options.profile), rater=rater) for task in tasks]


async def judge_text(
    step: JudgeStep, ask: JudgeInput, client: Client, options: JudgeOptions
) -> list[JudgeRating | None]:
    """The ratings of one text, one an aspect; None for each where the endpoint is away, so that they stay due.

    Of several samples every aspect has its own lower median. Where each sample keeps to the rule "accuracy 3 or less,
    overall 3 or less", the medians do too: more than half of the samples are at most as high as each of them.
    """
    if why := step.cannot(ask):
        ratings = [step.rating(ask, aspect, None, why) for aspect in step.aspects]
        return [JudgeRating(r, _unasked_lineage(r, step, client, ask), 0) for r in ratings]
    again = options.again(ask)
    replies = await client.samples(judge_request(step, ask, options), options.samples + again)
    if any(r.status == "unanswered" for r in replies):
        return [None] * len(step.aspects)
    looks = [read_reply(step, ask, r) for r in replies]
    out: list[JudgeRating | None] = []
    for n, aspect in enumerate(step.aspects):
        rating, detail = aggregate_samples(step, ask, aspect, [look[aspect] for look in looks[: options.samples]])
        if again:
            detail["retest"] = looks[-1][aspect].value
        if step.wording.quality:
            detail["quality"] = step.wording.quality
        line = _lineage(rating, step, client, replies, detail)
        if n:  # one call, whose tokens and dollars stand with the first aspect
            line = line.model_copy(update={"tokens_in": None, "tokens_out": None, "cost": None})
        out.append(JudgeRating(rating, line, 0 if n else sum(r.asked for r in replies)))
    return out


def judge_request(step: JudgeStep, ask: JudgeInput, options: JudgeOptions) -> Request:
    """What is asked about one text."""
    temperature = options.temperature if options.samples > 1 else None
    return step.sampled(ask, temperature=temperature, logprobs=_ALTERNATIVES if options.logprobs else 0)


def read_reply(step: JudgeStep, ask: JudgeInput, reply: Reply) -> dict[Aspect, JudgeSample]:
    """What one reply comes to, by aspect; a judge that leaves the reason out, twice, has still rated."""
    value = reply.value
    if value is None and reply.status == "unparseable" and step.wording.shape == "reason":
        value = ratings_alone(reply.raw, reply_type(step.rubric, step.aspects, "rating"))
    if value is None:
        return dict.fromkeys(step.aspects, JudgeSample(None, _why_unusable(reply)))
    assert isinstance(value, JudgeReply)
    if fault := evidence_fault(ask.text, value.evidence):
        return dict.fromkeys(step.aspects, JudgeSample(None, fault))
    spans, ratings, out = quoted_spans(ask.text, value.evidence or []), value.ratings, {}
    for field, aspect in value.rated.items():
        weighted = weighted_rating(reply.logprobs, field, ratings[aspect], type(value))
        score, mass = weighted or (None, None)
        out[aspect] = JudgeSample(ratings[aspect], value.explanation, score, mass, spans, value.read_as)
    return out


def _why_unusable(reply: Reply) -> str:
    """Why a reply without a value gives no rating: its kind, and what was said."""
    status = "refused" if reply.status == "unparseable" and is_refusal(reply.raw) else reply.status
    text = reply.raw if status != reply.status else reply.message
    return f"no usable reply: {status}: {escape_line(text[:200])}"


def aggregate_samples(
    step: JudgeStep, ask: JudgeInput, aspect: Aspect, looks: Sequence[JudgeSample]
) -> tuple[Rating, dict[str, Any]]:
    """The rating that several looks come to, and what the lineage keeps of them.

    The rating is the lower median of the scored looks, a rating that was given; the score is the mean of their weighted
    scores, or of the ratings where the endpoint gives no log-probabilities. Unscored unless more than half are scored.
    """
    scored = [x for x in looks if x.value is not None]
    detail: dict[str, Any] = {"samples": [x.value for x in looks], "case": ask.case}
    if notes := [x.read for x in looks if x.read]:
        detail["read"] = notes
    if len(scored) * 2 <= len(looks):
        why = next(x.why for x in looks if x.value is None)
        reason = why if len(looks) == 1 else f"{len(looks) - len(scored)} of {len(looks)} samples unscored: {why}"
        return step.rating(ask, aspect, None, reason), detail
    values = sorted(x.value for x in scored if x.value is not None)
    median = values[(len(values) - 1) // 2]
    weights = [x.score for x in scored if x.score is not None]
    all_weighted = len(weights) == len(scored)
    detail["score"] = round(fmean(weights) if all_weighted else fmean(values), 6)
    detail["weighted"] = all_weighted
    if all_weighted:
        detail["mass"] = round(min(x.mass for x in scored if x.mass is not None), 6)
    sample = next(x for x in scored if x.value == median)
    if sample.evidence:
        detail["evidence"] = [s.model_dump(include={"start", "end", "text"}) for s in sample.evidence]
    return step.rating(ask, aspect, median, sample.why), detail


def _lineage(
    rating: Rating, step: JudgeStep, client: Client, replies: Sequence[Reply], detail: dict[str, Any]
) -> Lineage:
    """The lineage of a rating that was asked for, with what its calls took."""
    return Lineage(
        item_id=rating.id,
        stage=JUDGE_STAGE,
        parents=(rating.item_id,),
        made_at=max(r.at for r in replies),
        model=client.endpoint.model,
        endpoint=client.address,
        prompt=step.label,
        request=replies[-1].request,
        tokens_in=_sum([r.tokens_in for r in replies]),
        tokens_out=_sum([r.tokens_out for r in replies]),
        cost=_sum([r.cost for r in replies]),
        detail={**detail, "requests": [r.request for r in replies]} if len(replies) > 1 else detail,
    )


def _unasked_lineage(rating: Rating, step: JudgeStep, client: Client, ask: JudgeInput) -> Lineage:
    """Lineage of a rating that nobody was asked for; told again, it is the same act."""
    return Lineage(
        item_id=rating.id,
        stage=JUDGE_STAGE,
        parents=(rating.item_id,),
        made_at=now(),
        model=client.endpoint.model,
        prompt=step.label,
        detail={"samples": [], "case": ask.case, "asked": False},
    )


def _sum(values: Sequence[Any]) -> Any:
    numbers = [v for v in values if v is not None]
    return sum(numbers) if numbers else None
