"""Packed weights: the products are the modules' own, whatever changes a weight, and nothing stays behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from evaluation.models import packed_weights as module
from evaluation.models.language_model import LM
from evaluation.models.packed_weights import PackedMap, has_packed_product, packed_weights
from tests.support.tiny import CONFIGS, make

packable = pytest.mark.skipif(not has_packed_product(), reason="this build of PyTorch has no packed product")


def logits_and_gradient(lm: LM) -> tuple[Tensor, Tensor]:
    """Logits of a padded pass, and the gradient of a number made of them with respect to the first block's input."""
    ids, mask = lm.pad([(5, 6, 7, 8, 9, 10), (11, 12, 13)])
    states = torch.linspace(-1, 1, ids.numel() * lm.layout.width).reshape(*ids.shape, -1).requires_grad_()
    handle = lm.model.get_input_embeddings().register_forward_hook(lambda *_: states)
    try:
        with torch.enable_grad():
            logits: Tensor = lm.model(input_ids=ids, attention_mask=mask).logits[mask.bool()]
            (gradient,) = torch.autograd.grad(logits.square().mean(), states)
    finally:
        handle.remove()
    return logits.detach(), gradient


def close(actual: Tensor, expected: Tensor) -> bool:
    return torch.allclose(actual, expected, atol=1e-5 + 1e-4 * float(expected.abs().max()))


def maps_in_use(lm: LM) -> list[PackedMap]:
    forwards = [m.__dict__.get("forward") for m in lm.model.modules()]
    return [forward for forward in forwards if isinstance(forward, PackedMap)]


@packable
@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_and_gradients_are_those_of_the_modules(kind: str) -> None:
    lm = make(kind)
    expected, digest = logits_and_gradient(lm), lm.weights_digest()
    with packed_weights(lm):
        assert maps_in_use(lm)
        with packed_weights(lm):  # an inner block leaves the outer one's maps alone
            pass
        for actual, want in zip(logits_and_gradient(lm), expected, strict=True):
            assert close(actual, want)
    assert not maps_in_use(lm) and lm.weights_digest() == digest


CHANGES: dict[str, Callable[[Any], Any]] = {
    "in place": lambda weight: weight.mul_(2),
    "behind autograd's back": lambda weight: weight.data.mul_(2),
    "other memory": lambda weight: setattr(weight, "data", 2 * weight.data),
}


@packable
@pytest.mark.parametrize("change", CHANGES)
def test_a_weight_that_changed_is_packed_again(change: str) -> None:
    lm = make("llama")
    with packed_weights(lm):
        before, _ = logits_and_gradient(lm)
    with torch.no_grad():
        CHANGES[change](lm.projection(1).weight)
    expected = logits_and_gradient(lm)
    assert not close(expected[0], before)
    with packed_weights(lm):
        for actual, want in zip(logits_and_gradient(lm), expected, strict=True):
            assert close(actual, want)


@packable
def test_a_weight_in_training_gets_its_gradient() -> None:
    lm = make("llama")
    weight: Any = lm.projection(1).weight
    weight.requires_grad_(True)
    with packed_weights(lm), torch.enable_grad():
        lm.model(input_ids=torch.tensor([[5, 6, 7]])).logits.sum().backward()
    assert weight.grad is not None and float(weight.grad.abs().max()) > 0


@pytest.mark.parametrize("reason", ["too large", "no operation", "narrow type"])
def test_modules_keep_their_own_products_otherwise(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama", dtype=torch.bfloat16 if reason == "narrow type" else torch.float32)
    if reason == "too large":
        monkeypatch.setattr(module, "MAX_BYTES", 100)
    if reason == "no operation":
        monkeypatch.setattr(module, "has_packed_product", lambda: False)
    with packed_weights(lm):
        assert not maps_in_use(lm)
