"""Cases scored from log-probabilities that are written down."""

from __future__ import annotations

from typing import Any

from evaluation.metrics import METRICS
from schemas.answers import Answer, CaseScores, TargetScore
from schemas.cases import Case
from schemas.probes import ScoreProbe


def answer(probe: ScoreProbe, *values: float, tokens: tuple[int, ...] = (), **more: Any) -> Answer:
    """An answer whose targets have these log-probabilities (sums) over so many tokens (1 unless told)."""
    counts = tokens or (1,) * len(values)
    scores = tuple(
        TargetScore(text=t, logprob=v, tokens=n) for t, v, n in zip(probe.targets, values, counts, strict=False)
    )
    return Answer(probe=probe.id, targets=scores, **more)


def scored(
    name: str, case: Case, answers: list[Any], *, normalisation: str = "mean", before: list[Any] | None = None
) -> CaseScores:
    """Score a case, given each probe's (log-probabilities) in the metric's order of asking; None is no answer."""
    metric = METRICS.get(name)()
    probes = metric.probes(case)
    assert len(probes) == len(answers)

    def table(scores: list[Any]) -> dict[str, Answer]:
        answers_by_probe = {
            p.id: (a if isinstance(a, Answer) else answer(p, *a)) for p, a in zip(probes, scores, strict=True) if a
        }
        return answers_by_probe

    return metric.score(case, table(answers), table(before or [None] * len(probes)), normalisation)
