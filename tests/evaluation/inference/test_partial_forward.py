from __future__ import annotations

import torch

from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.batched_scoring import EditScorer, first_layer
from evaluation.inference.request import EditedProbes
from tests.support.evaluation.batched_probes import changes, probes
from tests.support.tiny import make


def test_where_passes_begin() -> None:
    lm = make("llama")
    _, one, two, dense, first = changes(lm)
    assert [first_layer(lm, deltas) for deltas in ([], one, two, dense, first)] == [None, 1, 1, 2, 0]
    delta = LowRankDelta(lm.layout.head + ".weight", torch.zeros(4, 1), torch.zeros(3, 1))
    assert first_layer(lm, [*two, delta]) is None
    scorer = EditScorer(lm, layers=[1])
    scorer.score([EditedProbes((), None, probes())])
    ran: list[int] = []
    hook = lm.projection(0).register_forward_hook(lambda *a: ran.append(1))
    scorer.score([EditedProbes(one, None, probes())])
    assert not ran, "what stands below the edit is not run again"
    scorer.score([EditedProbes(dense, None, probes())])
    assert ran, "layer 2 was not stored"
    hook.remove()
