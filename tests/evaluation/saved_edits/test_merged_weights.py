"""Changes merged into weights: the slow way's weights, what rounding takes, always undone."""

from __future__ import annotations

import pytest
import torch

from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta
from evaluation.models.language_model import LM
from evaluation.saved_edits.formats import merge_into_weights
from schemas.core.errors import UserError
from tests.support.evaluation.edited_model import edited_copy
from tests.support.tiny import make


def change(lm: LM, layer: int, size: float = 1.0) -> DenseDelta:
    generator = torch.Generator().manual_seed(layer)
    return DenseDelta(
        lm.layout.weight(layer), size * torch.randn(lm.layout.width, lm.layout.inner, generator=generator)
    )


def test_equals_weights_changed_by_hand_and_is_undone(tiny: LM) -> None:
    low = LowRankDelta(tiny.layout.weight(1), torch.ones(tiny.layout.width, 2), torch.ones(tiny.layout.inner, 2))
    deltas, digest = [change(tiny, 0), low, change(tiny, 1)], tiny.weights_digest()
    slow = edited_copy(tiny, deltas)
    with merge_into_weights(tiny.model, deltas) as losses:
        for (name, weight), other_parameter in zip(tiny.model.named_parameters(), slow.parameters(), strict=True):
            assert torch.allclose(weight, other_parameter, atol=1e-5), name
        assert tiny.weights_digest() != digest and losses == 0.0
    assert tiny.weights_digest() == digest
    with pytest.raises(KeyboardInterrupt), merge_into_weights(tiny.model, deltas):
        raise KeyboardInterrupt
    assert tiny.weights_digest() == digest


def test_rounding_is_told() -> None:
    lm = make("llama", dtype=torch.bfloat16)
    digest = lm.weights_digest()
    with merge_into_weights(lm.model, [change(lm, 1, 1.0)]) as large:
        assert 0 < large < 0.05
    with merge_into_weights(lm.model, [change(lm, 1, 1e-6)]) as tiny_change:
        assert tiny_change > 0.5, "a change below the type's resolution vanishes, and is said to"
    with merge_into_weights(lm.model, [change(lm, 1, 0.0)]) as nothing:
        assert nothing == 0.0
    assert lm.weights_digest() == digest


def test_changes_of_one_weight_add_up_before_they_are_rounded() -> None:
    lm = make("llama", dtype=torch.bfloat16)
    with merge_into_weights(lm.model, [change(lm, 1, 8.0), DenseDelta(lm.layout.weight(1), -change(lm, 1, 8.0).value)]):
        assert torch.equal(lm.projection(1).weight, make("llama", dtype=torch.bfloat16).projection(1).weight)


def test_a_shared_weight_is_refused() -> None:
    lm = make("gpt2")
    head = lm.model.lm_head
    assert head.weight is lm.model.transformer.wte.weight
    delta = DenseDelta("lm_head.weight", torch.zeros(head.out_features, head.in_features))
    with (
        pytest.raises(UserError, match="'lm_head.weight' is the weight of 'transformer.wte' too"),
        merge_into_weights(lm.model, [delta]),
    ):
        pass
