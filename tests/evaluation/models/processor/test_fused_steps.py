"""Norms, gates and attention as one function each equal the modules' own, forth and back, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from evaluation.models.processor import fused_steps as steps
from evaluation.models.processor.fused_steps import fused_steps
from tests.support.evaluation.sloped_pass import pass_of, small_steps  # noqa: F401
from tests.support.tiny import CONFIGS, make

GATED = ("llama", "qwen2", "mistral")


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of the functions that a pass used."""
    used: list[str] = []
    for function in (steps._Norm, steps._Gate, steps._Attention):
        own = function.forward

        def note(ctx: Any, *args: Any, own: Any = own, name: str = function.__name__) -> Any:
            used.append(name)
            return own(ctx, *args)

        monkeypatch.setattr(function, "forward", staticmethod(note))
    yield used


@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_and_slopes_are_those_of_the_modules(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make(kind)
    monkeypatch.setattr(steps, "LARGE", 0)
    want, want_slope = pass_of(lm)
    with counted(monkeypatch) as used, fused_steps(lm):
        got, got_slope = pass_of(lm)
        with torch.no_grad():
            ids, mask = lm.pad([(5, 6, 7, 8, 9, 10), (11, 12, 13)])
            still = lm.model(input_ids=ids, attention_mask=mask).logits
    plain = lm.model(input_ids=ids, attention_mask=mask).logits.detach()
    assert torch.allclose(got, want, atol=1e-4)
    assert torch.allclose(got_slope, want_slope, atol=1e-6 + 1e-4 * float(want_slope.abs().max()))
    assert torch.allclose(still[mask.bool()], plain[mask.bool()], atol=1e-4)
    if kind in GATED:
        assert set(used) == {"_Norm", "_Gate", "_Attention"}
    assert all("forward" not in module.__dict__ for module in lm.model.modules())


@pytest.mark.parametrize("kind", ["bool", "added"])
def test_attention_of_shared_heads_equals_pytorchs_forth_and_back(kind: str) -> None:
    draw = torch.Generator().manual_seed(1)
    query = torch.randn(2, 5, 6, 8, generator=draw).transpose(1, 2).requires_grad_()
    key, value = (torch.randn(2, 3, 9, 8, generator=draw).requires_grad_() for _ in range(2))
    allowed = torch.rand(2, 1, 5, 9, generator=draw) > 0.4
    allowed[..., 0] = True
    mask = (
        allowed if kind == "bool" else torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
    )
    slope = torch.randn(2, 6, 5, 8, generator=draw)
    keys, values = (one.repeat_interleave(2, dim=1) for one in (key, value))
    want = scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=0.3)
    got = steps._Attention.apply(query, key, value, mask, 0.3)  # type: ignore[no-untyped-call]
    assert torch.allclose(got, want, atol=1e-5)
    slopes = [torch.autograd.grad(out, (query, key, value), slope) for out in (got, want)]
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*slopes, strict=True))


def test_long_rows_and_other_attention_keep_their_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama")
    with counted(monkeypatch) as used, fused_steps(lm):
        monkeypatch.setattr(steps, "PAIRS", 10)
        pass_of(lm)
        assert "_Attention" not in used and "_Norm" in used
        own = ALL_ATTENTION_FUNCTIONS["sdpa"]
        with fused_steps(lm):
            assert ALL_ATTENTION_FUNCTIONS["sdpa"] is own, "an inner block adds nothing"
        assert ALL_ATTENTION_FUNCTIONS["sdpa"] is own


def test_a_norm_of_another_formula_is_left_alone() -> None:
    class OddRMSNorm(nn.Module):
        def __init__(self, more: float) -> None:
            super().__init__()
            self.weight, self.eps, self.more = nn.Parameter(torch.ones(8), requires_grad=False), 1e-5, more

        def forward(self, states: Tensor) -> Tensor:
            scale = (states.square().mean(-1, keepdim=True) + self.eps).rsqrt()
            return states * scale * (self.weight + self.more)

    assert steps.kind_of(OddRMSNorm(0.0)) == "norm" and steps.kind_of(OddRMSNorm(1.0)) == ""


def test_what_hangs_on_a_module_is_not_called_and_decides_nothing() -> None:
    """A reading, or an edit of the map, would see a pass that is none, and make the gate look like another one."""
    lm, seen = make("llama"), []
    down = lm.projection(1)

    def changed(module: nn.Module, inputs: Any, out: Tensor) -> Tensor:
        seen.append(out)
        return out + 1

    hook = down.register_forward_hook(changed)
    gate: Any = lm.block(1).get_submodule("mlp")
    with fused_steps(lm):
        assert "forward" in gate.__dict__ and not seen
        gate(torch.zeros(1, 2, lm.layout.width))
    assert len(seen) == 1 and hook.id in down._forward_hooks


def test_everything_comes_back_after_an_error() -> None:
    lm, own = make("llama"), ALL_ATTENTION_FUNCTIONS["sdpa"]
    norm: Any = lm.block(0).get_submodule("input_layernorm")
    norm.forward = placed = norm.forward
    with pytest.raises(KeyError), fused_steps(lm):
        assert norm.forward is placed and ALL_ATTENTION_FUNCTIONS["sdpa"] is not own
        raise KeyError
    assert ALL_ATTENTION_FUNCTIONS["sdpa"] is own
    assert [module for module in lm.model.modules() if "forward" in module.__dict__] == [norm]
