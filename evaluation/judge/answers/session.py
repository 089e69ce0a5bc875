"""Judging open answers from the outside: what it will ask and cost, and the judging itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from construction.llm.client import Client
from construction.llm.connection import Access
from construction.llm.cost.estimates import CallCounter, no_price_advice
from construction.llm.session import ModelSession
from evaluation.judge.answers.control_items import answer_controls, control_pairs
from evaluation.judge.answers.inputs import AnswerInput
from evaluation.judge.answers.judging import judge_answer, judge_answers
from evaluation.judge.answers.steps import AnswerStep
from evaluation.judge.control_items import ControlResult, check_controls, control_lineage, put_controls
from evaluation.judge.judging import JudgeOptions
from evaluation.judge.session import JudgeEstimate, JudgePlan, run_judge

if TYPE_CHECKING:
    from curation.store.store import Store

_REPLY = {"reason": 70, "rating": 40}


def answer_steps(asks: Sequence[AnswerInput], options: JudgeOptions, *, model: str) -> dict[str, AnswerStep]:
    """One step for each rubric that the answers are rated under, by the rubric's name."""
    rubrics = {a.rubric.name: a.rubric for a in asks}
    return {name: AnswerStep.load(rubric, options.profile, model=model) for name, rubric in sorted(rubrics.items())}


def estimate_answers(
    asks: Sequence[AnswerInput], options: JudgeOptions, model: Access, *, with_controls: bool = True
) -> JudgeEstimate:
    """Count calls and tokens, at four characters a token; first attempts only."""
    steps = answer_steps(asks, options, model=model.label)
    counter, left = CallCounter(), 0
    for ask in asks:
        step = steps[ask.rubric.name]
        if step.cannot(ask):
            left += 1
        else:
            times = options.samples + options.again(ask)
            counter.add(step.prompt(ask), reply_tokens=_REPLY[step.wording.shape], times=times)
    for item in answer_controls(list(steps)) if with_controls else []:
        step = steps[item.rubric]
        counter.add(step.prompt(item.ask), reply_tokens=_REPLY[step.wording.shape], times=1)
    advice = "" if model.price() else no_price_advice(model.label)
    return JudgeEstimate(len(asks), left, *counter.estimate(model.price()), advice)


def answer_plan(asks: Sequence[AnswerInput], options: JudgeOptions, session: ModelSession) -> JudgePlan:
    """What judging open answers asks."""
    steps = answer_steps(asks, options, model=session.access.label)
    return JudgePlan(
        rater=next(iter(steps.values())).rater,
        asks=asks,
        total=sum(len(a.rubric.aspects) for a in asks),
        judge=lambda some, client: judge_answers([(steps[a.rubric.name], a) for a in some], client, options),
        controls=lambda opened, client: _ask_controls(opened, steps, client, options),
    )


run_answer_judge = partial(run_judge, plan=answer_plan)
"""``run_judge`` for open answers."""


async def _ask_controls(
    store: Store, steps: dict[str, AnswerStep], client: Client, options: JudgeOptions
) -> ControlResult:
    """The control items of the rubrics, asked once each; what is answered goes into the store's lineage."""
    once = options.model_copy(update={"samples": 1, "retest": 0.0})
    pairs, ratings, lines = [], [], []
    for item in answer_controls(list(steps)):
        step = steps[item.rubric]
        judged_aspects = await judge_answer(step, item.ask, client, once)
        by_aspect = {j.rating.aspect: j for j in judged_aspects if j is not None}
        for aspect in control_pairs(step, item):
            judged = by_aspect.get(aspect.aspect)
            pairs.append((aspect, item))
            ratings.append(
                aspect.unscored(item.ask, "not asked: the endpoint was away") if judged is None else judged.rating
            )
            lines += [] if judged is None else [control_lineage(aspect, item, judged)]
    put_controls(store, lines)
    return check_controls(pairs, ratings)
