"""A different edit in every row, beside narrow weights (equality with one edit at a time: ``test_batched_scoring``)."""

from __future__ import annotations

import torch

from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import DenseDelta
from tests.support.tiny import make


def test_small_changes_survive_half_precision() -> None:
    """Products are added in float32: of a weight that rounds the change away, the output still has it."""
    lm = make("llama", dtype=torch.bfloat16)
    with torch.no_grad():
        lm.projection(1).weight.copy_(
            torch.tensor([1.0, -1.0]).repeat(lm.layout.inner // 2).expand(lm.layout.width, -1)
        )
    small = torch.full((lm.layout.width, lm.layout.inner), 1e-3)
    keys = torch.ones(2, 1, lm.layout.inner)
    assert torch.equal(lm.projection(1).weight + 1e-3, lm.projection(1).weight)
    with torch.no_grad(), PerRow(lm.model, [[DenseDelta(lm.layout.weight(1), small)]]).on([0, -1]):
        out = lm.projection(1)(keys.bfloat16())
    assert out.dtype == torch.bfloat16 and not out[1].any()
    assert torch.allclose(out[0].float(), torch.tensor(lm.layout.inner * 1e-3), rtol=1e-2)
