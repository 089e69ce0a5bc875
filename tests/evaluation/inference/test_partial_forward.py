from __future__ import annotations

import pytest
import torch

from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta
from evaluation.inference.batched_scoring import EditScorer, first_layer
from evaluation.inference.request import EditedProbes
from tests.support.evaluation.batched_probes import changes, probes, same, slowly
from tests.support.tiny import CONFIGS, make


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
    assert ran, "layer 2 was not kept"
    hook.remove()


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_edited_projection_lets_passes_begin_above_its_block(kind: str) -> None:
    """One that something stands above in its block, or a change of another weight there, does not."""
    lm = make(kind)
    scorer = EditScorer(lm, layers=[1])
    scorer.score([EditedProbes((), None, probes())])
    ran: list[str] = []
    hooks = [
        lm.module(name).register_forward_hook(lambda *_, name=name: ran.append(name))
        for name in (lm.layout.projection(1), lm.layout.projection(2))
    ]
    edits = changes(lm)[1:3]
    got = scorer.score([EditedProbes(deltas, None, probes()) for deltas in edits])
    above = lm.layout.additive
    assert (lm.layout.projection(1) in ran) == (not above) and lm.layout.projection(2) in ran
    ran.clear()
    inward = f"{lm.layout.block(1)}.{lm.layout.mlp_in[0]}.weight"
    weight = lm.model.get_parameter(inward)
    out, width = weight.shape[::-1] if lm.layout.transposed else weight.shape
    draw = torch.Generator().manual_seed(3)
    other = [*edits[0], DenseDelta(inward, 0.1 * torch.randn(out, width, generator=draw))]
    got += scorer.score([EditedProbes(other, None, probes())])
    assert lm.layout.projection(1) in ran
    for hook in hooks:
        hook.remove()
    same(got, slowly(lm, [EditedProbes(deltas, None, probes()) for deltas in (*edits, other)]))


@pytest.mark.parametrize("reason", ["bfloat16", "the last layer", "no room"])
def test_where_passes_begin_in_the_edited_block(reason: str) -> None:
    lm = make("llama", dtype=torch.bfloat16 if reason == "bfloat16" else torch.float32)
    layer, room = (lm.layout.depth - 1 if reason == "the last layer" else 1), (10 if reason == "no room" else None)
    scorer = EditScorer(lm, layers=[layer], room=room)
    scorer.score([EditedProbes((), None, probes())])
    assert scorer.outputs.empty and scorer.kept.empty == (reason == "no room")
