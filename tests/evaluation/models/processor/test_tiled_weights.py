"""Products by tiles equal the modules' own, follow every change of a weight, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from evaluation.models.language_model import LM
from evaluation.models.processor import tiled_weights
from evaluation.models.processor.tiled_weights import can_tile, has_tiles, tiled_products
from evaluation.models.processor.tiles import FEW, Tiles
from tests.support.tiny import CONFIGS, make

pytestmark = pytest.mark.skipif(not has_tiles(), reason="no products by tiles on this machine")


def logits(lm: LM) -> Tensor:
    texts = [lm.tokenizer(text)["input_ids"] for text in ("The capital of Peru is Lima", "She left and went to Oslo")]
    ids, mask = lm.pad(texts)
    with torch.no_grad():
        out: Tensor = lm.model(input_ids=ids, attention_mask=mask).logits
    return out[mask.bool()]


@pytest.mark.parametrize("room", [tiled_weights.ROOM, 0])
@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_and_slopes_are_those_without(kind: str, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lm, used = make(kind), []
    monkeypatch.setattr(tiled_weights, "ROOM", room)
    own = Tiles.product
    monkeypatch.setattr(Tiles, "product", lambda self, *a, **k: used.append(k.get("back", False)) or own(self, *a, **k))

    def slopes() -> Tensor:
        states = torch.linspace(-1, 1, 2 * FEW * lm.layout.width).reshape(2, FEW, -1).requires_grad_()
        ids = torch.zeros(2, FEW, dtype=torch.long)
        base: Any = lm.module(lm.layout.base)
        taken = base.get_input_embeddings().register_forward_hook(lambda *_: states)
        with torch.enable_grad():
            lm.module(lm.layout.head)(base(input_ids=ids).last_hidden_state).square().mean().backward()
        taken.remove()
        assert states.grad is not None
        return states.grad

    want, want_slopes = logits(lm), slopes()
    assert not used
    with tiled_products(lm):
        got, got_slopes = logits(lm), slopes()
    assert torch.allclose(got, want, atol=1e-4) and {True, False} <= set(used)
    assert torch.allclose(got_slopes, want_slopes, atol=1e-5 + 1e-4 * float(want_slopes.abs().max()))
    assert all("forward" not in module.__dict__ for module in lm.model.modules())


def in_place(weight: Any) -> None:
    with torch.no_grad():
        weight.add_(0.5)


def behind(weight: Any) -> None:
    weight.data.mul_(1.5)


def other_memory(weight: Any) -> None:
    weight.data = weight.data * 2


@pytest.mark.parametrize("change", [in_place, behind, other_memory])
@pytest.mark.parametrize("name", ["mlp.down_proj", "mlp.up_proj", "self_attn.v_proj"])
def test_a_changed_weight_is_noticed(name: str, change: Callable[[Any], None]) -> None:
    lm = make("llama")
    with tiled_products(lm):
        before = logits(lm)
    change(lm.block(1).get_submodule(name).weight)
    want = logits(lm)
    assert not torch.allclose(want, before, atol=1e-2), "the change is to show"
    with tiled_products(lm):
        assert torch.allclose(logits(lm), want, atol=1e-4)


def test_a_weight_changed_in_the_middle_and_another_in_its_place_are_noticed() -> None:
    lm = make("llama")
    projection: Any = lm.projection(1)
    with tiled_products(lm):
        logits(lm)
        in_place(projection.weight)
        changed = logits(lm)
        projection.weight = nn.Parameter(projection.weight.detach() * 2, requires_grad=False)
        replaced = logits(lm)
    assert torch.allclose(logits(lm), replaced, atol=1e-4) and not torch.allclose(changed, replaced, atol=1e-2)


def test_a_trained_weight_keeps_its_own_product() -> None:
    lm = make("llama")
    weight: Any = lm.projection(1).weight
    weight.requires_grad_(True)
    with tiled_products(lm), torch.enable_grad():
        lm.model(input_ids=torch.tensor([[5, 6, 7]])).logits.sum().backward()
    assert weight.grad is not None and float(weight.grad.abs().sum()) > 0


def test_forwards_come_back_after_an_error_and_those_of_others_stay() -> None:
    lm = make("gpt2")
    module: Any = lm.projection(0)
    own = module.forward
    module.forward = lambda states: own(states)
    placed = module.forward
    with pytest.raises(KeyError), tiled_products(lm):
        outer = lm.projection(1).forward
        assert module.forward is placed and "forward" in lm.projection(1).__dict__
        with tiled_products(lm):
            assert lm.projection(1).forward is outer
        assert lm.projection(1).forward is outer
        raise KeyError
    assert module.forward is placed
    assert [m for m in lm.model.modules() if "forward" in m.__dict__] == [module]


def test_other_types_and_machines_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = make("llama", dtype=torch.bfloat16)
    with tiled_products(narrow):
        assert not can_tile(narrow) and all("forward" not in m.__dict__ for m in narrow.model.modules())
    monkeypatch.setattr(tiled_weights.platform, "machine", lambda: "arm64")
    has_tiles.cache_clear()
    try:
        assert not has_tiles()
    finally:
        monkeypatch.undo()
        has_tiles.cache_clear()
    assert has_tiles()


def test_a_build_without_them_and_one_that_multiplies_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        def _reorder_linear_weight(self, weight: Tensor, rows: int | None) -> Tensor:
            return weight

        def _linear_pointwise(self, states: Tensor, weight: Tensor, bias: Tensor, *rest: Any) -> Tensor:
            return linear(states, weight, bias) + 1

    for ops in (object(), Wrong()):
        monkeypatch.setattr(torch.ops, "mkldnn", ops)
        has_tiles.cache_clear()
        assert not has_tiles()
    monkeypatch.undo()
    has_tiles.cache_clear()
    assert has_tiles()
