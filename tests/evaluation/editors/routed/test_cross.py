"""The cross scorer: pairs are read together, the nearest events only, and padding changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evaluation.editors.routed.cross import MAX_TOKENS, CrossRouter, CrossScorer
from tests.support.evaluation.routed_events import TOWNS, HashedVectors, tiny_encoder, town_cases

CASES = town_cases(TOWNS[:8])
EVENTS = [case.event.text for case in CASES]


@pytest.fixture
def scorer(tmp_path: Path) -> CrossScorer:
    torch.manual_seed(0)
    folder = tiny_encoder(tmp_path / "tiny", [*EVENTS, *(case.facts[0].text for case in CASES)])
    return CrossScorer(folder).eval()


def test_a_pair_has_the_same_score_alone_and_beside_longer_ones(scorer: CrossScorer) -> None:
    question = CASES[0].facts[0].text
    texts = [EVENTS[0], EVENTS[1] * 3]
    together = scorer.scores(question, texts)
    alone = torch.cat([scorer.scores(question, [text]) for text in texts])
    assert torch.allclose(together, alone, atol=1e-5) and len(set(together.tolist())) == 2
    assert scorer.scores(question, []).shape == (0,)


def test_question_and_event_are_read_together_and_long_pairs_are_cut(scorer: CrossScorer) -> None:
    seen: list[tuple[int, ...]] = []
    scorer.encoder.register_forward_pre_hook(
        lambda _, args, told: seen.append(tuple(told["input_ids"].shape)), with_kwargs=True
    )
    first, second = scorer.scores("Who is mayor of Alba?", EVENTS[:1]), scorer.scores("Who is mayor?", EVENTS[:1])
    assert first.item() != second.item(), "the question counts"
    scorer.scores("Who is mayor of Alba?", [EVENTS[0] * 60])
    assert seen[-1] == (1, MAX_TOKENS)


def test_the_router_looks_at_the_shortlist_and_keeps_to_the_threshold(scorer: CrossScorer) -> None:
    prompt = f"Question: {CASES[3].facts[0].text}\nAnswer:"
    with torch.no_grad():
        scorer.out.weight.zero_()
        scorer.out.bias.fill_(1.0)  # every pair alike: the first of the shortlist, the nearest event
    router = CrossRouter(scorer, EVENTS, HashedVectors(), shortlist=2, threshold=0.7)
    route = router.route(prompt)
    assert route.item == 3 and route.score == pytest.approx(torch.tensor(1.0).sigmoid().item())
    strict = CrossRouter(scorer, EVENTS, HashedVectors(), shortlist=2, threshold=0.75)
    assert strict.route(prompt).item is None
