"""Gradients taken apart into pairs, and changes in rows."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from evaluation.editors.hypernetwork.gradients import (
    LowerLayerStates,
    apply_changes,
    batch,
    gradients,
    line,
    logprobs,
    nll,
)
from evaluation.editors.hypernetwork.network import WeightChange
from evaluation.edits.weight_deltas import LowRankDelta, applied
from evaluation.models.language_model import LM


def test_pairs_are_the_gradient_of_the_weight(tiny: LM) -> None:
    lines = [line(tiny, "The capital of Peru is", "Oslo"), line(tiny, "In Norway", "São Tomé"), line(tiny, "A", "x")]
    maps = [tiny.layout.projection(n) for n in (0, 2)]
    slopes = gradients(tiny, maps, lines, LowerLayerStates(tiny, 0, keep=False))  # type: ignore[arg-type]
    for i, one in enumerate(lines):
        assert one is not None
        weights: list[Any] = [tiny.projection(n).weight for n in (0, 2)]
        for w in weights:
            w.requires_grad_(True)
        logits = tiny.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        loss = -torch.stack([logits[k - 1, one.ids[k]] for k in range(one.first, len(one.ids))]).mean()
        want = torch.autograd.grad(loss, weights)
        for w in weights:
            w.requires_grad_(False)
        for name, slope in zip(maps, want, strict=True):
            pairs = slopes[name]
            matrix = pairs.delta[i].T @ (pairs.u[i] * pairs.real[i][:, None])
            assert torch.allclose(matrix, slope.T if tiny.layout.transposed else slope, atol=1e-5)


def test_changes_in_rows_are_changes_of_weights(tiny: LM) -> None:
    torch.manual_seed(0)
    lines = [line(tiny, "The capital of Peru is", "Oslo"), line(tiny, "In Norway one sees", "São Tomé")]
    change = {
        tiny.layout.projection(n): WeightChange(torch.randn(2, 32, 3) * 0.1, torch.randn(2, tiny.layout.inner, 3) * 0.1)
        for n in (1, 2)
    }
    below = LowerLayerStates(tiny, 1)
    rows = batch(tiny, below, lines)  # type: ignore[arg-type]
    with apply_changes(tiny, change, torch.tensor([1, 0])):
        loss = nll(logprobs(tiny, rows), rows)
    for i, edit in enumerate((1, 0)):
        deltas = [LowRankDelta(f"{name}.weight", c.left[edit], c.right[edit]) for name, c in change.items()]
        with applied(tiny.model, deltas), torch.no_grad():
            one = lines[i]
            assert one is not None
            logits = tiny.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        want = -torch.stack([logits[k - 1, one.ids[k]] for k in range(one.first, len(one.ids))]).mean()
        assert float(loss[i]) == pytest.approx(float(want), abs=1e-4)
    repeat = batch(tiny, below, lines[::-1])  # type: ignore[arg-type]
    assert torch.allclose(nll(logprobs(tiny, repeat), repeat).flip(0), nll(logprobs(tiny, rows), rows), atol=1e-5)
