"""One judging from the outside: store, journal, model; what is due, what it costs, what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from construction.llm.client import Client, gather_all
from construction.llm.connection import Access
from construction.llm.cost.estimates import CallCounter, no_price_advice
from construction.llm.session import ModelSession, model_session
from curation.store.store import Store
from evaluation.judge.control_items import (
    ControlResult,
    check_controls,
    control_lineage,
    control_questions,
    put_controls,
)
from evaluation.judge.judging import JudgeOptions, JudgeRating, judge_all, judge_aspect, judge_steps
from evaluation.judge.steps import JudgeInput, JudgeStep

_REPLY = {"paper": 40, "evidence": 70, "rating": 8}
_CHUNK = 50  # scripts between two transactions; all of them where a batch takes hours


class JudgeEstimate(NamedTuple):
    """What a judging will ask, first attempts only; replies on record are not asked for again.

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
    asks: Sequence[JudgeInput], options: JudgeOptions, model: Access, *, with_controls: bool = True
) -> JudgeEstimate:
    """Count calls and tokens, at four characters a token."""
    steps = judge_steps(options, model=model.label)
    counter, left = CallCounter(), 0

    def count(step: JudgeStep, ask: JudgeInput, times: int) -> None:
        counter.add(step.prompt(ask), reply_tokens=_REPLY[step.wording.shape], times=times)

    for ask in asks:
        if any(step.cannot(ask) for step in steps):
            left += 1
            continue
        for step in steps:
            count(step, ask, options.samples + options.again(ask))
    for step, control in control_questions(steps) if with_controls else []:
        count(step, control.ask, 1)
    advice = "" if model.price() else no_price_advice(model.label)
    return JudgeEstimate(len(asks), left, *counter.estimate(model.price()), advice)


class JudgeProgress(NamedTuple):
    """How far a judging is: ratings finished, of how many, unscored ones among them, and what was spent."""

    done: int
    total: int
    unscored: int
    spent: str


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


class JudgePlan(NamedTuple):
    """What one judging asks, whatever is rated.

    Attributes:
        rater: The judge, as its ratings name it.
        asks: The texts.
        total: Ratings that they come to.
        judge: Rates some of the texts, within the client's limits; None for ratings that stay due.
        controls: Asks about the control items and puts them into the store's lineage.
    """

    rater: str
    asks: Sequence[Any]
    total: int
    judge: Callable[[Sequence[Any], Client], Awaitable[Sequence[JudgeRating | None]]]
    controls: Callable[[Store, Client], Awaitable[ControlResult]]


def script_plan(asks: Sequence[JudgeInput], options: JudgeOptions, session: ModelSession) -> JudgePlan:
    """What judging scripts asks."""
    steps = judge_steps(options, model=session.access.label)
    return JudgePlan(
        rater=steps[0].rater,
        asks=asks,
        total=len(asks) * len(steps),
        judge=lambda some, client: judge_all(steps, some, client, options),
        controls=lambda opened, client: _ask_controls(opened, steps, client, options),
    )


def run_judge(
    store: Path,
    journal: Path,
    asks: Sequence[Any],
    options: JudgeOptions,
    model: Access,
    *,
    plan: Callable[[Sequence[Any], JudgeOptions, ModelSession], JudgePlan] = script_plan,
    with_controls: bool = True,
    on_progress: Callable[[JudgeProgress], None] = lambda progress: None,
) -> JudgeResult:
    """Judge texts and keep the ratings; what is finished stays whatever happens.

    Replies are journaled before they are used, ratings go into the store in portions.

    Args:
        store: Where the texts are, and where ratings go.
        journal: The replies on record.
        asks: The texts: scripts, or what ``plan`` takes.
        options: How they are judged.
        model: The judge.
        plan: What is asked about them.
        with_controls: Ask about the control items first.
        on_progress: Called after every portion.

    Raises:
        UserError: store or journal in use, no key, endpoint away, embedded model not installed.
        StoppedEarly: Ctrl-C or SIGTERM.
        BudgetReached: the next call does not fit the budget.
    """
    with model_session(journal, model) as session, Store.open(store, write=True) as opened:
        return session.run(_ask_all(opened, session, plan(asks, options, session), with_controls, on_progress))


async def _ask_all(
    store: Store,
    session: ModelSession,
    plan: JudgePlan,
    with_controls: bool,
    on_progress: Callable[[JudgeProgress], None],
) -> JudgeResult:
    budget, asks = session.budget, plan.asks
    size = len(asks) if session.access.batch else _CHUNK
    done = new = unscored = waiting = 0
    async with session.client() as client:
        controls = await plan.controls(store, client) if with_controls else None
        for first in range(0, len(asks), max(size, 1)):
            ratings = await plan.judge(asks[first : first + size], client)
            good = [j for j in ratings if j is not None]
            put = store.put([j.rating for j in good], [j.line for j in good])
            done, new, waiting = done + len(good), new + put.new, waiting + len(ratings) - len(good)
            unscored += sum(j.rating.value is None for j in good)
            on_progress(JudgeProgress(done, plan.total, unscored, budget.sentence()))
            await asyncio.sleep(0)
        return JudgeResult(plan.rater, done, new, unscored, waiting, client.calls, budget.sentence(), controls)


async def _ask_controls(
    store: Store, steps: Sequence[JudgeStep], client: Client, options: JudgeOptions
) -> ControlResult:
    """The control items, asked once each; what is answered goes into the store's lineage."""
    pairs = control_questions(steps)
    once = options.model_copy(update={"samples": 1, "retest": 0.0})
    control_ratings = await gather_all([judge_aspect(step, control.ask, client, once) for step, control in pairs])
    put_controls(
        store, [control_lineage(*pair, j) for j, pair in zip(control_ratings, pairs, strict=True) if j is not None]
    )
    ratings = [
        j.rating if j is not None else step.unscored(control.ask, "not asked: the endpoint was away")
        for j, (step, control) in zip(control_ratings, pairs, strict=True)
    ]
    return check_controls(pairs, ratings)
