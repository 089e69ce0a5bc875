"""The head's log-odds in one batch and one by one; the router's decision."""

from __future__ import annotations

import pytest
import torch

from evaluation.editors.routed.head import HeadRouter, ScopeHead, stack_questions
from evaluation.editors.routed.pairs import EventMemory
from tests.support.evaluation.routed_events import DIMENSIONS, HashedVectors

TEXTS = ["Ana Roe left Rome for Oslo.", "Oslo has a new mayor.", "Lima raised its taxes."]


def test_a_batch_equals_its_questions_one_by_one_and_places_without_an_event_score_nothing() -> None:
    torch.manual_seed(0)
    head = ScopeHead(DIMENSIONS, 8).eval()
    memory = EventMemory(TEXTS, HashedVectors())
    rows = torch.from_numpy(memory.rows)
    pairs = [memory.pairs("Who is mayor of Oslo?", size=3), memory.pairs("Who lives in Lima?", size=1)]
    both = head(stack_questions(pairs, rows))
    assert both.shape == (2, 3) and both[1, 1:].tolist() == [float("-inf")] * 2
    for n, one in enumerate(pairs):
        single_output = head(stack_questions([one], rows))[0]
        assert torch.allclose(both[n, : len(one.events)], single_output, atol=1e-5)


@pytest.mark.parametrize(("threshold", "passes"), [(0.0, True), (1.0, False)])
def test_the_threshold_decides_whether_the_best_event_passes(threshold: float, passes: bool) -> None:
    torch.manual_seed(1)
    router = HeadRouter(ScopeHead(DIMENSIONS, 8).eval(), TEXTS, HashedVectors(), shortlist=2, threshold=threshold)
    route = router.route("Question: Who is mayor of Oslo?\nAnswer:")
    assert (route.item is not None) is passes and 0 < route.score < 1
    assert route == router.route("Who is mayor of Oslo?"), "the question alone is looked up"
