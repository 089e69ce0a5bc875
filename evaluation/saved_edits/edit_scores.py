"""How a model scores on an edit's cases, before it and with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.metrics.base import Answers, Metric, Normalisation, Summary
from evaluation.models.language_model import LM
from evaluation.runs.plan import ask
from schemas.cases import Case


class ScoreChange(NamedTuple):
    """A metric over all cases before an edit and with it; ``after.cases`` cases have something it asks about."""

    metric: Metric
    before: Summary
    after: Summary


def ask_cases(lm: LM, cases: Sequence[Case], metrics: Sequence[Metric]) -> list[Answers]:
    """The answers of the model as it stands, a mapping by probe for every case."""
    jobs = [Job(case.key, case, ask(case, metrics)) for case in cases]
    results = FastEngine(lm).ask(jobs, rewrite=None)
    return [{answer.probe: answer for answer in done.answers} for done in results]


def score_changes(
    cases: Sequence[Case],
    before: Sequence[Answers],
    after: Sequence[Answers],
    metrics: Sequence[Metric],
    *,
    normalisation: Normalisation = "mean",
) -> list[ScoreChange]:
    """Every metric that asks something about these cases, from the answers before and after; the others are left out.

    Args:
        cases: What was edited.
        before: Answers of the unedited model, as from ``ask_cases``.
        after: Answers of the edited one.
        metrics: Metrics that read log-probabilities.
        normalisation: ``mean`` per token or ``sum``.
    """
    out = []
    for metric in metrics:
        measured = [] if metric.unedited is not None else zip(cases, before, strict=True)
        then = [metric.score(c, b, b, normalisation) for c, b in measured]
        now = [metric.score(c, a, b, normalisation) for c, a, b in zip(cases, after, before, strict=True)]
        change = ScoreChange(metric, metric.summarise(then), metric.summarise(now))
        if change.after.items or change.after.unscored:
            out.append(change)
    return out
