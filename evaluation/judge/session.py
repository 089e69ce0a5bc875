"""One judging from the outside: store, journal, model; what is due, what it costs, what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from construction.llm.client import gather_all
from construction.llm.connection import Access
from construction.llm.cost.estimates import CallCounter, no_price_advice
from construction.llm.session import ModelSession, model_session
from curation.store.store import Store
from evaluation.judge.control_items import ControlResult, ask_controls, control_questions
from evaluation.judge.inputs import JudgeInput
from evaluation.judge.judging import JudgeOptions, judge_steps, judge_text
from evaluation.judge.steps import JudgeStep, judge_name

_CHUNK = 50  # texts between two transactions; all of them where a batch takes hours


def _steps(asks: Sequence[JudgeInput], options: JudgeOptions, model: Access) -> dict[str, list[JudgeStep]]:
    """What is asked about some texts, by name of their rubric."""
    rubrics = {a.rubric.name: a.rubric for a in asks}
    rater = judge_name(model.label, options.profile)
    return {name: judge_steps(rubric, options, rater=rater) for name, rubric in sorted(rubrics.items())}


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
    steps = _steps(asks, options, model)
    counter, left = CallCounter(), 0
    for ask in asks:
        if any(step.cannot(ask) for step in steps[ask.rubric.name]):
            left += 1
            continue
        for step in steps[ask.rubric.name]:
            times = options.samples + options.again(ask)
            counter.add(step.prompt(ask), reply_tokens=step.reply_tokens, times=times)
    for question in control_questions(steps) if with_controls else []:
        counter.add(question.step.prompt(question.item.ask), reply_tokens=question.step.reply_tokens)
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


def run_judge(
    store: Path,
    journal: Path,
    asks: Sequence[JudgeInput],
    options: JudgeOptions,
    model: Access,
    *,
    with_controls: bool = True,
    on_progress: Callable[[JudgeProgress], None] = lambda progress: None,
) -> JudgeResult:
    """Judge texts and keep the ratings; what is finished stays whatever happens.

    Replies are journaled before they are used, ratings go into the store in portions.

    Args:
        store: Where the texts are, and where ratings go.
        journal: The replies on record.
        asks: The texts.
        options: How they are judged.
        model: The judge.
        with_controls: Ask about the control items first.
        on_progress: Called after every portion.

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
    on_progress: Callable[[JudgeProgress], None],
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
            on_progress(JudgeProgress(done, total, unscored, session.budget.sentence()))
            await asyncio.sleep(0)
        rater = judge_name(session.access.label, options.profile)
        return JudgeResult(rater, done, new, unscored, waiting, client.calls, session.budget.sentence(), controls)
