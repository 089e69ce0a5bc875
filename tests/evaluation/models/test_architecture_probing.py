"""What short passes tell of a model's layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.support.evaluation.architectures import CASES
from tests.support.tiny import make


def first(out: Any) -> torch.Tensor:
    """What a block gives; some give a tuple."""
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.parametrize("kind", CASES)
@torch.no_grad()
def test_additive_is_what_it_says_at_every_layer(kind: str) -> None:
    """The slow twin of the flag: an addition to the projection's output, seen at the block's by PyTorch's hooks."""
    lm = make(kind)
    ids, mask = lm.pad([[5, 6, 7, 8]])
    shift = torch.randn(32, generator=torch.Generator().manual_seed(3))
    for layer in range(3):
        outputs: list[torch.Tensor] = []
        hooks = [lm.block(layer).register_forward_hook(lambda m, i, out, calls=outputs: calls.append(first(out)))]
        lm.model(input_ids=ids, attention_mask=mask)
        hooks.append(lm.projection(layer).register_forward_hook(lambda m, i, out: out + shift))
        lm.model(input_ids=ids, attention_mask=mask)
        for hook in hooks:
            hook.remove()
        gained = outputs[1] - outputs[0]
        assert torch.allclose(gained, shift.expand_as(gained), atol=1e-3) is lm.layout.additive


@pytest.mark.parametrize("kind", CASES)
@torch.no_grad()
def test_a_plain_head_gives_the_models_logits_also_where_they_are_large(kind: str) -> None:
    lm = make(kind)
    ids, mask = lm.pad([[5, 6, 7]])
    lm.module(lm.layout.head).weight.mul_(50)  # past Gemma 2's cap of 30
    hidden = lm.module(lm.layout.base)(input_ids=ids, attention_mask=mask).last_hidden_state
    plain, logits = lm.module(lm.layout.head)(hidden), lm.model(input_ids=ids, attention_mask=mask).logits
    assert torch.allclose(plain, logits, rtol=1e-3, atol=1e-3) is lm.layout.plain_head


def test_a_cap_that_small_logits_hide_is_found() -> None:
    lm = make("gemma2", final_logit_softcapping=1000.0)
    assert not lm.layout.plain_head and lm.layout.soft_cap == 1000.0
    assert make("gemma2", final_logit_softcapping=None).layout.plain_head


def test_attention_before_the_mlp_is_not_parallel() -> None:
    assert not make("neox", use_parallel_residual=False).layout.parallel
