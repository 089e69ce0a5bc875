"""Asking a judge: samples of every aspect of a script, a second look at some, ratings with their lineage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

from pydantic import BaseModel, Field, ValidationError

from evaluation.judge.prompt_files import ASPECTS
from evaluation.judge.reply_reading import is_refusal, rating_alone
from evaluation.judge.steps import JudgeInput, JudgeReply, JudgeStep, quoted_spans
from evaluation.judge.weighted_score import weighted_rating
from schemas.core.clock import now
from schemas.core.config import Options
from schemas.core.ids import seed
from schemas.lineage import Lineage
from schemas.ratings import Aspect, Rating
from schemas.text.escaping import escape_line
from schemas.verdicts import Span

if TYPE_CHECKING:
    from construction.llm.client import Client, Reply
    from construction.llm.step import PromptStep, Request

STAGE = "judge"
_MOST = 20  # alternatives a token: what most endpoints give at most; digits 1 to 7 need seven


class RatedText(Protocol):
    """A text as a judge is asked about it: a script, or an open answer."""

    @property
    def item(self) -> str:
        """Content id of the text."""
        ...

    @property
    def case(self) -> str:
        """Key of its case: the cluster of intervals."""
        ...


class RatingMaker(Protocol):
    """What makes ratings of one aspect: a step of scripts, or an aspect of a step of open answers."""

    def rating(self, item: Any, value: int | None, reason: str) -> Rating:
        """A rating."""
        ...

    def unscored(self, item: Any, why: str) -> Rating:
        """A rating without a value, and why."""
        ...


class JudgeOptions(Options):
    """How scripts are judged.

    Attributes:
        profile: Wording: ``paper``, ``evidence`` or ``embedded``.
        aspects: What is rated.
        samples: Replies to each question; their lower median is the rating, their mean the score.
        temperature: Of the samples, where there are several; a single reply is asked for as the wording says.
        retest: Share of the scripts that are asked about once more, to see whether the judge repeats itself.
        logprobs: Ask for log-probabilities; an endpoint that has none is asked without them.
    """

    profile: str = "paper"
    aspects: tuple[Aspect, ...] = ASPECTS
    samples: Annotated[int, Field(ge=1, le=50)] = 1
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    retest: Annotated[float, Field(ge=0, le=1)] = 0.05
    logprobs: bool = True

    def again(self, ask: RatedText) -> bool:
        """Whether a script is looked at twice: drawn from its id, so that every judge looks twice at the same ones."""
        return seed("retest", ask.item) % 1_000_000 < self.retest * 1_000_000


class JudgeRating(NamedTuple):
    """A rating with its lineage; ``asked``: calls that went over the network."""

    rating: Rating
    line: Lineage
    asked: int


class JudgeSample(NamedTuple):
    """What one reply comes to: the rating (None: unscored, and why), its weighted score and evidence where given.

    ``read``: what was read into a reply of another shape.
    """

    value: int | None
    why: str
    score: float | None
    mass: float | None
    evidence: Sequence[Span] = ()
    read: str = ""


def judge_steps(options: JudgeOptions, *, model: str) -> list[JudgeStep]:
    """One step an aspect, for a model that answers."""
    return [JudgeStep.load(aspect, options.profile, model=model) for aspect in options.aspects]


async def judge_aspect(step: JudgeStep, ask: JudgeInput, client: Client, options: JudgeOptions) -> JudgeRating | None:
    """The rating of one aspect of one script; None where the endpoint is away, so that it stays due."""
    if why := step.cannot(ask):
        rating = step.unscored(ask, why)
        return JudgeRating(rating, unasked_lineage(rating, step, client, ask), 0)
    retest = options.again(ask)
    request = judge_request(step, ask, options)
    replies = await client.samples(request, options.samples + retest)
    if any(r.status == "unanswered" for r in replies):
        return None
    looks = [read_sample(step, ask, r) for r in replies]
    rating, detail = aggregate_samples(step, ask, looks[: options.samples])
    if retest:
        detail["retest"] = looks[-1].value
    if step.wording.quality:
        detail["quality"] = step.wording.quality
    return JudgeRating(rating, rating_lineage(rating, step, client, replies, detail), sum(r.asked for r in replies))


def judge_request(step: JudgeStep, ask: JudgeInput, options: JudgeOptions) -> Request:
    """What is asked about one aspect of one script."""
    temperature = options.temperature if options.samples > 1 else None
    return step.sampled(ask, temperature=temperature, logprobs=_MOST if options.logprobs else 0)


async def judge_all(
    steps: Sequence[JudgeStep], asks: Sequence[JudgeInput], client: Client, options: JudgeOptions
) -> list[JudgeRating | None]:
    """Rate every script on every aspect at once, within the client's limits; in order of scripts, then aspects."""
    from construction.llm.client import gather_all

    return await gather_all([judge_aspect(step, ask, client, options) for ask in asks for step in steps])


def read_sample(step: JudgeStep, ask: JudgeInput, reply: Reply) -> JudgeSample:
    """What one reply comes to."""
    if reply.value is None:
        if (
            reply.status == "unparseable"
            and step.wording.shape == "paper"
            and (bare_reply := rating_alone(reply.raw)).data
        ):
            weighted = weighted_rating(reply.logprobs, bare_reply.data)
            score, mass = (weighted.score, weighted.mass) if weighted else (None, None)
            return JudgeSample(bare_reply.data, "", score, mass, read=bare_reply.read)
        return JudgeSample(None, why_unusable(reply), None, None)
    (rating,) = step.parse(ask, reply.value)
    decides = partial(_is_reply, type(reply.value))
    weighted = weighted_rating(reply.logprobs, rating.value, decides) if rating.value is not None else None
    score, mass = (weighted.score, weighted.mass) if weighted else (None, None)
    spans = quoted_spans(ask.text, reply.value) if rating.value is not None else []
    note = reply.value.read_as if isinstance(reply.value, JudgeReply) else ""
    return JudgeSample(rating.value, rating.reason, score, mass, spans, note)


def why_unusable(reply: Reply) -> str:
    """Why a reply without a value gives no rating: its kind, and what was said."""
    status = "refused" if reply.status == "unparseable" and is_refusal(reply.raw) else reply.status
    text = reply.raw if status != reply.status else reply.message
    return f"no usable reply: {status}: {escape_line(text[:200])}"


def _is_reply(shape: type[BaseModel], data: dict[str, Any]) -> bool:
    """Whether a JSON object can be read as a reply: the one that decides the rating, not a draft before it."""
    try:
        shape.model_validate(data)
    except ValidationError:
        return False
    return True


def aggregate_samples(step: RatingMaker, ask: RatedText, looks: Sequence[JudgeSample]) -> tuple[Rating, dict[str, Any]]:
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
        return step.unscored(ask, reason), detail
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
    return step.rating(ask, median, sample.why), detail


def rating_lineage(
    rating: Rating, step: PromptStep[Any, Rating], client: Client, replies: Sequence[Reply], detail: dict[str, Any]
) -> Lineage:
    """The lineage of a rating that was asked for, with what its calls took."""
    return Lineage(
        item_id=rating.id,
        stage=STAGE,
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


def unasked_lineage(rating: Rating, step: PromptStep[Any, Rating], client: Client, ask: RatedText) -> Lineage:
    """Lineage of a rating that nobody was asked for; told again, it is the same act."""
    return Lineage(
        item_id=rating.id,
        stage=STAGE,
        parents=(rating.item_id,),
        made_at=now(),
        model=client.endpoint.model,
        prompt=step.label,
        detail={"samples": [], "case": ask.case, "asked": False},
    )


def _sum(values: Sequence[Any]) -> Any:
    numbers = [v for v in values if v is not None]
    return sum(numbers) if numbers else None
