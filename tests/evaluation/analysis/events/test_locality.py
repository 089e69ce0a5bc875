"""Locality less the placebo's, counted by hand."""

from __future__ import annotations

import pytest

from evaluation.analysis.comparison import score_run
from evaluation.analysis.events.locality import locality_beside_placebo
from evaluation.metrics.base import Metric
from evaluation.metrics.events.facts import EventFact, EventFactLocality
from evaluation.metrics.events.tendencies import EventChoiceLocality
from tests.support.evaluation.event_answers import prefers, said
from tests.support.evaluation.event_runs import event_run
from tests.support.events import event_case, make_fact_question, make_tendency

QUESTIONS = tuple(
    make_fact_question(f"Who is mayor of {name}?", "Ada", scope="out") for name in ("Rome", "Pisa", "Bari")
)
RAIN = make_tendency("How may rain change?", "C", scope="out")
CASE = event_case(facts=QUESTIONS, tendencies=(RAIN,))
OTHER = event_case("case/other", facts=QUESTIONS[:1], tendencies=())
METRICS: list[Metric] = [EventFact(), EventFactLocality(), EventChoiceLocality()]


def answers(*texts: str, letter: str = "C") -> dict[str, object]:
    return {k: a for q, text in zip(QUESTIONS, texts, strict=False) for k, a in said(q, text).items()} | prefers(
        RAIN, letter
    )


def test_every_method_beside_the_placebo() -> None:
    """Of four questions the method leaves three alone and the placebo one; of one tendency the method none."""
    by_method = {
        "none": (answers("a", "b", "c"), answers("a")),
        "ice": (answers("a", "b", "x", letter="A"), answers("a")),
        "placebo": (answers("x", "y", "c"), answers("z")),
    }
    run = event_run(
        [CASE, OTHER],
        {m: {CASE.key: (a, None), OTHER.key: (b, None)} for m, (a, b) in by_method.items()},  # type: ignore[misc]
    )
    facts, tendencies = locality_beside_placebo(run, score_run(run, METRICS, "mean"), METRICS)
    assert (facts.metric, facts.label) == ("Facts, locality", "ice")
    assert facts.value.mean == pytest.approx(3 / 4) and facts.placebo.mean == pytest.approx(1 / 4)
    assert facts.difference.mean == pytest.approx(1 / 2)
    assert (tendencies.metric, tendencies.value.mean, tendencies.placebo.mean) == ("Tendencies, locality", 0.0, 1.0)
    assert tendencies.difference.mean == -1.0


def test_without_a_placebo_nothing_is_shown() -> None:
    run = event_run([CASE], {m: {CASE.key: (answers("a", "b", "c"), None)} for m in ("none", "ice")})  # type: ignore[misc]
    assert locality_beside_placebo(run, score_run(run, METRICS, "mean"), METRICS) == []
