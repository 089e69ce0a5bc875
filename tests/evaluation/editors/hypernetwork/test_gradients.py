"""Gradients taken apart into pairs, and changes in rows."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from evaluation.editors.hypernetwork.gradients import LowerLayerStates, apply_changes, gradients
from evaluation.editors.hypernetwork.network import WeightChange
from evaluation.editors.target_texts import TargetBatch, TargetText, target_text
from evaluation.edits.delta_stack import applied
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.models.language_model import LM


def texts(lm: LM, *pairs: tuple[str, str]) -> list[TargetText]:
    return [text for pair in pairs if (text := target_text(lm, *pair)) is not None]


def test_pairs_are_the_gradient_of_the_weight(tiny: LM) -> None:
    lines = texts(tiny, ("The capital of Peru is", "Oslo"), ("In Norway", "São Tomé"), ("A", "x"))
    maps = [tiny.layout.projection(n) for n in (0, 2)]
    slopes = gradients(maps, TargetBatch(tiny, lines, 0))
    for i, one in enumerate(lines):
        weights: list[Any] = [tiny.projection(n).weight for n in (0, 2)]
        for w in weights:
            w.requires_grad_(True)
        logits = tiny.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        loss = -logits[list(one.positions), list(one.goals)].mean()
        want = torch.autograd.grad(loss, weights)
        for w in weights:
            w.requires_grad_(False)
        for name, slope in zip(maps, want, strict=True):
            pairs = slopes[name]
            matrix = pairs.delta[i].T @ (pairs.u[i] * pairs.real[i][:, None])
            assert torch.allclose(matrix, slope.T if tiny.layout.transposed else slope, atol=1e-5)


def test_changes_in_rows_are_changes_of_weights(tiny: LM) -> None:
    torch.manual_seed(0)
    lines = texts(tiny, ("The capital of Peru is", "Oslo"), ("In Norway one sees", "São Tomé"))
    change = {
        tiny.layout.projection(n): WeightChange(torch.randn(2, 32, 3) * 0.1, torch.randn(2, tiny.layout.inner, 3) * 0.1)
        for n in (1, 2)
    }
    below = LowerLayerStates(tiny, 1)
    rows = below.batch(lines)
    with apply_changes(tiny, change, torch.tensor([1, 0])):
        loss = rows.nll()
    for i, edit in enumerate((1, 0)):
        deltas = [LowRankDelta(f"{name}.weight", c.left[edit], c.right[edit]) for name, c in change.items()]
        with applied(tiny.model, deltas), torch.no_grad():
            one = lines[i]
            logits = tiny.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        want = -logits[list(one.positions), list(one.goals)].mean()
        assert float(loss[i]) == pytest.approx(float(want), abs=1e-4)
    assert torch.allclose(below.batch(lines[::-1]).nll().flip(0), rows.nll(), atol=1e-5)
