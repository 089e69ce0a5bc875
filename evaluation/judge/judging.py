"""Asking a judge: samples, a second look at some texts, one rating an aspect; control items; what it costs.

Control items are hand-written texts whose rating is known: a judge that misses them has not understood the scale. Their
ratings are in the store's lineage (stage ``judge_control``) and not among its ratings: they enter no mean, no count and
no agreement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

from pydantic import Field, model_validator

from construction.llm.client import gather_all
from construction.llm.connection import ModelSession, model_session
from construction.llm.cost.prices import how_to_add
from construction.llm.dry_run import missing_calls
from construction.llm.endpoint import Access
from construction.llm.replies import known_sum
from curation.store.store import Store
from evaluation.judge.inputs import JudgeInput
from evaluation.judge.ratings import JUDGE_STAGE
from evaluation.judge.steps import (
    JudgeReply,
    JudgeStep,
    is_refusal,
    judge_name,
    prompt_folder,
    ratings_alone,
    read_quotes,
    reply_type,
)
from schemas.core.clock import now
from schemas.core.config import Options, read_toml, validate
from schemas.core.ids import content_id, seed, slug
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.lineage import Lineage
from schemas.ratings import RUBRICS, SCRIPT, Aspect, Rating, Rubric
from schemas.text.escaping import escape_line
from schemas.verdicts import Span

if TYPE_CHECKING:
    from construction.llm.client import Client, Reply


class JudgeOptions(Options):
    """How texts are judged.

    Attributes:
        profile: Wording: ``paper``, ``evidence`` or ``embedded``.
        aspects: What is rated of scripts; open answers are rated on all aspects of their rubric.
        samples: Replies to each question; their lower median is the rating.
        temperature: Of the samples, where there are several; a single reply is asked for as the wording says.
        retest: Share of the texts that are asked about once more, to see whether the judge repeats itself.
    """

    profile: str = "paper"
    aspects: tuple[Aspect, ...] = SCRIPT.aspects
    samples: Annotated[int, Field(ge=1, le=50)] = 1
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    retest: Annotated[float, Field(ge=0, le=1)] = 0.05

    def again(self, ask: JudgeInput) -> bool:
        """Whether a text is looked at twice: drawn from its id, so that every judge looks twice at the same ones."""
        return seed("retest", ask.item) % 1_000_000 < self.retest * 1_000_000


class JudgeRating(NamedTuple):
    """A rating with its lineage."""

    rating: Rating
    line: Lineage


class JudgeSample(NamedTuple):
    """What one reply comes to for one aspect.

    Attributes:
        value: The rating; None where it is unscored.
        why: The judge's reason, or why it is unscored.
        evidence: Quotes, where they are in the text.
        read: What was read into a reply of another shape.
    """

    value: int | None
    why: str
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
        detail = {"samples": [], "case": ask.case, "asked": False}
        return [JudgeRating(r, _lineage(r, step, client, (), detail)) for r in ratings]
    again, temperature = options.again(ask), options.temperature if options.samples > 1 else None
    replies = await client.samples(step.sampled(ask, temperature=temperature), options.samples + again)
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
        out.append(JudgeRating(rating, line))
    return out


def read_reply(step: JudgeStep, ask: JudgeInput, reply: Reply) -> dict[Aspect, JudgeSample]:
    """What one reply comes to, by aspect; a judge that leaves the reason out, twice, has still rated."""
    value = reply.value
    if value is None and reply.status == "unparseable" and step.wording.shape == "reason":
        value = ratings_alone(reply.raw, reply_type(step.rubric, step.aspects, "rating"))
    if value is None:
        refused = reply.status == "unparseable" and is_refusal(reply.raw)
        status, said = ("refused", reply.raw) if refused else (reply.status, reply.message)
        return dict.fromkeys(step.aspects, JudgeSample(None, f"no usable reply: {status}: {escape_line(said[:200])}"))
    assert isinstance(value, JudgeReply)
    spans, fault = read_quotes(ask.text, value.evidence)
    if fault:
        return dict.fromkeys(step.aspects, JudgeSample(None, fault))
    return {
        aspect: JudgeSample(rating, value.explanation, spans, value.read_as) for aspect, rating in value.ratings.items()
    }


def aggregate_samples(
    step: JudgeStep, ask: JudgeInput, aspect: Aspect, looks: Sequence[JudgeSample]
) -> tuple[Rating, dict[str, Any]]:
    """The rating that several looks come to, and what the lineage keeps of them.

    The rating is the lower median of the scored looks, a rating that was given. Unscored unless more than half are.
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
    sample = next(x for x in scored if x.value == median)
    if sample.evidence:
        detail["evidence"] = [s.model_dump(include={"start", "end", "text"}) for s in sample.evidence]
    return step.rating(ask, aspect, median, sample.why), detail


def _lineage(
    rating: Rating, step: JudgeStep, client: Client, replies: Sequence[Reply], detail: dict[str, Any]
) -> Lineage:
    """The lineage of a rating, with what its calls took; of one that nobody was asked for, told again, the same act."""
    taken: dict[str, Any] = {"made_at": now()}
    if replies:
        sums = {name: known_sum([getattr(r, name) for r in replies]) for name in ("tokens_in", "tokens_out", "cost")}
        last = replies[-1]
        taken = {"made_at": max(r.at for r in replies), "endpoint": client.address, "request": last.request, **sums}
        taken["answered_by"] = last.answered_by
        detail = {**detail, "wording": step.wording.digest}
    if len(replies) > 1:
        detail["requests"] = [r.request for r in replies]
    return Lineage(
        item_id=rating.id,
        stage=JUDGE_STAGE,
        parents=(rating.item_id,),
        model=client.endpoint.model,
        prompt=step.label,
        detail=detail,
        **taken,
    )


_CHUNK = 50  # texts between two transactions; all of them where a batch takes hours


def _steps(asks: Sequence[JudgeInput], options: JudgeOptions, model: Access) -> dict[str, list[JudgeStep]]:
    """What is asked about some texts, by name of their rubric."""
    rubrics = {a.rubric.name: a.rubric for a in asks}
    rater = judge_name(model.label, options.profile)
    return {name: judge_steps(rubric, options, rater=rater) for name, rubric in sorted(rubrics.items())}


class JudgeEstimate(NamedTuple):
    """What a judging will ask, first attempts only; cached replies are not counted.

    ``cost`` is None where the model has no price, and ``advice`` says how to add it.
    """

    scripts: int
    not_asked: int
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    advice: str


def estimate(
    journal: Path, asks: Sequence[JudgeInput], options: JudgeOptions, model: Access, *, with_controls: bool = True
) -> JudgeEstimate:
    """Count calls that are not in the journal, and tokens, at four characters a token."""
    steps = _steps(asks, options, model)
    once = _once(options)
    calls = [(step, ask, options) for ask in asks for step in steps[ask.rubric.name]]
    calls += [(q.step, q.item.ask, once) for q in (control_questions(steps) if with_controls else [])]

    async def work(clients: Sequence[Client]) -> None:
        await gather_all([judge_text(step, ask, clients[0], how) for step, ask, how in calls])

    left = sum(any(step.cannot(ask) for step in steps[ask.rubric.name]) for ask in asks)
    advice = "" if model.price() else f"No dollars: {how_to_add(model.label)}."
    return JudgeEstimate(len(asks), left, *missing_calls(journal, [model], work, attempts=model.attempts or 1), advice)


class JudgeResult(NamedTuple):
    """What came of a judging.

    Attributes:
        rater: The judge, as its ratings name it.
        ratings: Finished.
        new: Of them not in the store before.
        unscored: Of them without a value.
        waiting: Unanswered because the endpoint was away: give the same command again.
        calls: Calls over the network.
        spent: Tokens and dollars, in words.
        controls: How the judge did on them; None where they were not asked.
    """

    rater: str
    ratings: int
    new: int
    unscored: int
    waiting: int
    calls: int
    spent: str
    controls: ControlResult | None


def run_judge(
    store: Path,
    journal: Path,
    asks: Sequence[JudgeInput],
    options: JudgeOptions,
    model: Access,
    *,
    with_controls: bool = True,
    on_progress: Callable[[int, int, int, str], None] = lambda *_: None,
) -> JudgeResult:
    """Judge texts and keep the ratings; what is finished stays whatever happens.

    Replies are journaled before they are used, ratings go into the store in portions.

    Args:
        store: Where the texts are, and where ratings go.
        journal: The stored replies.
        asks: The texts.
        options: How they are judged.
        model: The judge.
        with_controls: Ask about the control items first.
        on_progress: Called after every portion with the ratings finished, of how many, unscored ones among them, and
            what was spent, in words.

    Raises:
        UserError: store or journal in use, no key, endpoint away, embedded model not installed.
        StoppedEarly: Ctrl-C or SIGTERM.
        BudgetReached: the next call does not fit the budget.
    """
    with model_session(journal, model) as session, Store.open(store, write=True) as opened:
        return session.run(_ask_all(opened, session, asks, options, with_controls, on_progress))


async def _ask_all(
    store: Store,
    session: ModelSession,
    asks: Sequence[JudgeInput],
    options: JudgeOptions,
    with_controls: bool,
    on_progress: Callable[[int, int, int, str], None],
) -> JudgeResult:
    steps = _steps(asks, options, session.access)
    total = sum(len(step.aspects) for ask in asks for step in steps[ask.rubric.name])
    size = len(asks) if session.access.batch else _CHUNK
    done = new = unscored = waiting = 0
    async with session.client() as client:
        controls = await ask_controls(control_questions(steps), store, client, options) if with_controls else None
        for first in range(0, len(asks), max(size, 1)):
            calls = [(step, ask) for ask in asks[first : first + size] for step in steps[ask.rubric.name]]
            answered = await gather_all([judge_text(step, ask, client, options) for step, ask in calls])
            ratings = [rating for some in answered for rating in some]
            good = [j for j in ratings if j is not None]
            put = store.put([j.rating for j in good], [j.line for j in good])
            done, new, waiting = done + len(good), new + put.new, waiting + len(ratings) - len(good)
            unscored += sum(j.rating.value is None for j in good)
            on_progress(done, total, unscored, session.budget.sentence())
            await asyncio.sleep(0)
        rater = judge_name(session.access.label, options.profile)
        return JudgeResult(rater, done, new, unscored, waiting, client.calls, session.budget.sentence(), controls)


STAGE = "judge_control"
_NUMBER = "came"  # of a line's detail


class ControlItem(Options):
    """One control item: what is shown, and the ratings that are accepted for some aspects, lowest and highest.

    A script has a fact (``subject``, ``prompt``, ``old``, ``new``); an open answer has an event and its right option,
    and of a pair the text before the edit.
    """

    name: str
    rubric: Literal["script", "tendency", "consistency"] = "script"
    question: str
    text: str
    accepted: dict[Aspect, tuple[int, int]]
    edited: bool = True
    subject: str = ""
    prompt: str = ""
    old: str = ""
    new: str = ""
    event: str = ""
    right: str = ""
    before: str = ""

    @model_validator(mode="after")
    def _on_the_scale(self) -> ControlItem:
        rubric = RUBRICS[self.rubric]
        low, high = rubric.points
        for aspect, (lowest, highest) in self.accepted.items():
            if aspect not in rubric.aspects or not low <= lowest <= highest <= high:
                raise ValueError(f"{self.name}: {aspect} from {lowest} to {highest} is off the rubric's scale")
        if rubric.rates_pairs != bool(self.before):
            raise ValueError(f"{self.name}: a pair, and nothing else, has a text before the edit")
        return self

    @property
    def ask(self) -> JudgeInput:
        """As a judge is asked about it."""
        item, key = content_id("control", self.model_dump(mode="json")), f"control/{slug(self.name)}"
        return JudgeInput(
            item=item,
            case=key,
            text=self.text.strip(),
            question=self.question,
            edited=self.edited,
            rubric=RUBRICS[self.rubric],
            fact=self._fact(key) if self.rubric == SCRIPT.name else None,
            event=self.event,
            right=self.right,
            before=self.before.strip(),
            before_item=f"{item}-before" if self.before else None,
        )

    def _fact(self, key: str) -> Fact:
        return Fact(
            key=key,
            subject=Entity(text=self.subject),
            relation=Relation(id="control"),
            prompt=self.prompt,
            old=Object(text=self.old),
            new=Object(text=self.new),
            source=Source(name="control items", licence="CC0-1.0"),
        )


class _ControlItems(Options):
    control_items: tuple[ControlItem, ...]


@lru_cache(maxsize=1)
def control_items() -> tuple[ControlItem, ...]:
    """All of them."""
    path = Path(str(files("evaluation.judge").joinpath("control_items.toml")))
    return validate(_ControlItems, read_toml(path), where=str(path)).control_items


class ControlQuestion(NamedTuple):
    """A control item, the step that asks about it, and the aspects of the step whose rating is known."""

    step: JudgeStep
    item: ControlItem
    aspects: tuple[Aspect, ...]


def control_questions(steps: Mapping[str, Sequence[JudgeStep]]) -> list[ControlQuestion]:
    """Which control item is asked about with which step.

    Args:
        steps: By name of the rubric.
    """
    questions = []
    for item in control_items():
        for step in steps.get(item.rubric, ()):
            if aspects := tuple(a for a in step.aspects if a in item.accepted):
                questions.append(ControlQuestion(step, item, aspects))
    return questions


class RatedControl(NamedTuple):
    """The rating of a control item on one aspect: what was given (None: unscored), and what is accepted."""

    name: str
    aspect: Aspect
    given: int | None
    accepted: tuple[int, int]


class ControlResult(NamedTuple):
    """How a judge did on the control items: ratings asked for, those accepted, and those missed."""

    asked: int
    accepted: int
    missed: tuple[RatedControl, ...]


def control_result(given: Sequence[RatedControl]) -> ControlResult:
    """Compare ratings of control items with what is accepted."""
    missed = tuple(g for g in given if g.given is None or not g.accepted[0] <= g.given <= g.accepted[1])
    return ControlResult(len(given), len(given) - len(missed), missed)


def _once(options: JudgeOptions) -> JudgeOptions:
    return options.model_copy(update={"samples": 1, "retest": 0.0})


async def ask_controls(
    questions: Sequence[ControlQuestion], store: Store, client: Client, options: JudgeOptions
) -> ControlResult:
    """Ask about control items once each; what is answered goes into the store's lineage.

    The ratings of one call are numbered, above all before: replies carry their time in seconds only. The store leaves
    out what it has already.
    """
    once = _once(options)
    answered = await gather_all([judge_text(q.step, q.item.ask, client, once) for q in questions])
    given, lines = [], []
    for question, ratings in zip(questions, answered, strict=True):
        judged_by_aspect = {j.rating.aspect: j for j in ratings if j is not None}
        for aspect in question.aspects:
            judged, accepted = judged_by_aspect.get(aspect), question.item.accepted[aspect]
            value = None if judged is None else judged.rating.value
            given.append(RatedControl(question.item.name, aspect, value, accepted))
            lines += [] if judged is None else [_control_lineage(given[-1], judged)]
    number = 1 + max((int(line.detail[_NUMBER]) for line in store.lineages(stage=STAGE)), default=0)
    store.put([], [line.model_copy(update={"detail": {**line.detail, _NUMBER: number}}) for line in lines])
    return control_result(given)


def _control_lineage(given: RatedControl, judged: JudgeRating) -> Lineage:
    """What the store keeps of one control rating: who gave it under which form, and what is accepted."""
    rating = judged.rating
    detail: dict[str, Any] = {"control": given.name, "aspect": given.aspect, "accepted": list(given.accepted)}
    detail |= {"rater": rating.rater, "form": rating.form, "value": rating.value, "reason": rating.reason}
    return judged.line.model_copy(update={"stage": STAGE, "detail": {**judged.line.detail, **detail}})


def stored_controls(store: Store) -> dict[str, ControlResult]:
    """How the judges of a store did on the control items, by rater; of several answers the newest counts."""
    newest: dict[tuple[str, str, str], dict[str, Any]] = {}
    for line in sorted(store.lineages(stage=STAGE), key=lambda line: int(line.detail[_NUMBER])):
        newest[line.detail["rater"], line.detail["control"], line.detail["aspect"]] = line.detail
    given: dict[str, list[RatedControl]] = {}
    for (rater, name, aspect), detail in sorted(newest.items()):
        low, high = detail["accepted"]
        given.setdefault(rater, []).append(RatedControl(name, cast(Aspect, aspect), detail["value"], (low, high)))
    return {rater: control_result(some) for rater, some in given.items()}
