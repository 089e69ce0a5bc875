"""Requests of two edits in one batch get the answers that each gets alone."""

from __future__ import annotations

from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.request import EditedProbes
from evaluation.inference.scoring import score
from schemas.probes import ScoreProbe
from tests.support.tiny import make


def test_a_request_carries_its_own_way_with_prompts() -> None:
    lm, probe = make("llama"), ScoreProbe(purpose="fact", item="i", prompt="The capital is", targets=("Lima", "Oslo"))

    def rewrite(text: str) -> str:
        return "Peru lies by the sea. " + text

    plain, rewritten = EditScorer(lm).score([EditedProbes((), None, [probe]), EditedProbes((), rewrite, [probe])])
    for scores, want in ((plain, score(lm, [probe])), (rewritten, score(lm, [probe], rewrite=rewrite))):
        for a, b in zip(scores[0].targets, want[0].targets, strict=True):
            assert abs(a.logprob - b.logprob) < 1e-4
    assert plain != rewritten
