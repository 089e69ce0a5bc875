from __future__ import annotations

import math

import pytest

from evaluation.metrics.documents import SpecificityMatch, SpecificityPerplexity
from evaluation.metrics.generation import Generation, SharedQuestions
from schemas.answers import Answer, TargetScore
from tests.support.documents.records import document_case
from tests.support.documents.shared import make_shared

CASE = document_case()


def said(shared: SharedQuestions, values: list[tuple[float, int, bool]]) -> dict[str, Answer]:
    """Answers to the first questions: log-probability, tokens, greedy."""
    return {
        probe.id: Answer(
            probe=probe.id,
            targets=(TargetScore(text=probe.targets[0], logprob=value, tokens=tokens, greedy=greedy),),
        )
        for probe, (value, tokens, greedy) in zip(shared.probes, values, strict=False)
    }


def test_pooled_over_questions() -> None:
    shared = make_shared(3)
    generation, after = Generation(shared=shared), said(shared, [(-1.0, 2, True), (-3.0, 1, False), (-2.0, 3, True)])
    match, perplexity = SpecificityMatch(generation), SpecificityPerplexity(generation)
    assert match.summarise([match.score(CASE, after, {}, "mean")]).mean == pytest.approx(2 / 3)
    summary = perplexity.summarise([perplexity.score(CASE, after, {}, "mean")])
    assert summary.mean == pytest.approx(math.exp(6 / 6)) and summary.unit == "perplexity"


def test_a_case_whose_state_was_asked_with_another_has_no_item_and_a_lost_answer_is_unscored() -> None:
    shared = make_shared(3)
    match = SpecificityMatch(Generation(shared=shared))
    assert match.score(CASE, {}, {}, "mean").items == ()
    items = match.score(CASE, said(shared, [(-1.0, 2, True), (-1.0, 2, False)]), {}, "mean").items
    assert [(i.value, i.reason) for i in items] == [(1.0, ""), (0.0, ""), (None, "no answer")]


def test_without_questions_nothing_is_asked() -> None:
    assert SpecificityMatch().probes(CASE) == []
