"""Compiled steps take what they can take, change no input but the one that they say, and leave the rest alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from evaluation.models.processor import compiled_steps as steps
from evaluation.models.processor import fused_steps
from evaluation.models.processor.causal_attention import causal
from evaluation.models.processor.compilation import has_compiler

pytestmark = pytest.mark.skipif(not has_compiler(), reason="numba is not installed")


def joint_of(places: int = 5, *, rows: int = 2, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.linspace(-1, 2, rows * places * 4 * 6, dtype=dtype).reshape(rows, places, 4, 6)


def turns_of(places: int = 5, size: int = 6) -> Tensor:
    return torch.linspace(0, 3, places * size).reshape(1, places, size)


def test_which_attention_goes_by_loops() -> None:
    joint, cos, mask = joint_of(), turns_of(), causal(5, 5)
    assert steps.can_attend(joint, cos, mask) and steps.can_attend(joint, cos, mask.expand(2, 1, 5, 5))
    for other, turns, given in [
        (joint, cos, mask > -1),
        (joint, cos, mask.expand(3, 1, 5, 5)),
        (joint, cos, mask.expand(2, 2, 5, 5)),
        (joint, cos, causal(5, 6)),
        (joint, turns_of(size=4), mask),  # positions turn only a part of a head
        (joint, cos.expand(3, 5, 6), mask),
        (joint_of(steps.PLACES + 1), turns_of(steps.PLACES + 1), causal(steps.PLACES + 1, steps.PLACES + 1)),
        (joint[..., :5], turns_of(size=5), mask),
    ]:
        assert not steps.can_attend(other, turns, given)


def test_longer_rows_go_by_loops_where_most_pairs_are_barred() -> None:
    """Several texts stand in a row of fine-tuning, each attending to itself alone."""
    places = 3 * steps.PLACES
    joint, cos, whole = joint_of(places), turns_of(places), causal(places, places)
    texts = torch.arange(places) // 12
    apart = torch.where(texts[:, None] == texts, whole, whole.min())
    assert not steps.can_attend(joint, cos, whole) and steps.can_attend(joint, cos, apart)
    assert not steps.can_attend(joint, cos, torch.cat([apart, torch.zeros_like(apart)]))


def test_a_mask_without_memory_of_its_own_and_turned_slopes_are_read_right() -> None:
    """Masks and positions are often views, and slopes lie as autograd left them."""
    cos, sin = turns_of().cos(), turns_of().sin()
    wide = causal(5, 5).expand(2, 1, 5, 5)
    out, kept = steps.attend(joint_of(), cos.expand(2, 5, 6), sin.expand(2, 5, 6), wide, 0.3, 2)
    want, own = steps.attend(joint_of(), cos, sin, causal(5, 5), 0.3, 2)
    assert torch.equal(out, want)
    slopes = torch.linspace(-1, 1, out.numel()).reshape(5, 2, 2, 6).transpose(0, 1)
    assert not slopes.is_contiguous()
    assert torch.equal(
        steps.slope_of_attention(slopes, kept, 0.3), steps.slope_of_attention(slopes.contiguous(), own, 0.3)
    )


def test_which_norms_go_by_loops() -> None:
    states, weight = torch.ones(2, 3, 6), torch.ones(6)
    assert steps.can_norm(states, weight)
    for other, given in [
        (states.double(), weight),
        (states.bfloat16(), weight),
        (states, weight.double()),
        (states, torch.ones(12)[::2]),
    ]:
        assert not steps.can_norm(other, given)
    large, before = torch.ones(1).expand(steps.ENTRIES + 6, 6), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert steps.can_norm(large, weight)
        torch.set_num_threads(2)
        assert not steps.can_norm(large, weight) and steps.can_norm(states, weight)
    finally:
        torch.set_num_threads(before)


def test_states_that_want_a_slope_or_lie_apart_are_left_as_they_are() -> None:
    states = torch.linspace(-1, 2, 24).reshape(4, 6).t().requires_grad_()
    before = states.detach().clone()
    out, scales = steps.norm(states, torch.ones(4), 1e-5)
    assert out.shape == (6, 4) and scales.shape == (6, 1) and not out.requires_grad
    assert torch.equal(states, before) and torch.allclose(out, before * scales)
    more = torch.linspace(0, 1, 24).reshape(4, 6).t()
    slope = steps.slope_of_norm(torch.ones(6, 4), states, scales, torch.ones(4), more)
    plain = steps.slope_of_norm(torch.ones(6, 4), states, scales, torch.ones(4), torch.zeros(6, 4))
    assert torch.allclose(slope, plain + more)


def test_which_gates_and_turns_go_by_loops() -> None:
    joint, cos = joint_of(), turns_of()
    assert steps.can_gate(joint) and steps.can_turn(joint, cos) and steps.can_turn(joint, cos.expand(2, 5, 6))
    for other in (joint.double(), joint[..., :4]):
        assert not steps.can_gate(other)
    for other, turns in [
        (joint.double(), cos),
        (joint, cos.double()),
        (joint, turns_of(size=4)),
        (joint, cos.expand(3, 5, 6)),
        (joint[..., :5], turns_of(size=5)),
    ]:
        assert not steps.can_turn(other, turns)


def test_gates_and_turns_are_those_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    joint, turns = joint_of(), turns_of().expand(2, 5, 6)
    cos, sin = turns.cos(), turns.sin()
    turning, out = joint.clone(), fused_steps.gated(joint)
    steps.turn_heads(turning, cos, sin, 3)
    monkeypatch.setattr(fused_steps, "can_gate", lambda *_: False)
    assert torch.allclose(out, fused_steps.gated(joint), atol=1e-6)
    want = fused_steps.turned(joint[:, :, :3].transpose(1, 2), cos, sin).transpose(1, 2)
    assert torch.allclose(turning[:, :, :3], want, atol=1e-6) and torch.equal(turning[:, :, 3], joint[:, :, 3])
