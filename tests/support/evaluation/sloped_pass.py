"""A pass of a tiny model with the slope of what its blocks read: what faster ways forth and back are compared with."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from evaluation.models.language_model import LM
from evaluation.models.processor import compiled_steps
from evaluation.models.processor.compilation import has_compiler

ROWS = [(5, 6, 7, 8, 9, 10), (11, 12, 13)]

USUAL = ("llama", "qwen2", "mistral")
"""Tiny models whose blocks have the usual formula."""


def close(got: Tensor, want: Tensor) -> bool:
    """Whether values are the same but for rounding."""
    return torch.allclose(got, want, atol=1e-5 + 1e-4 * float(want.detach().abs().max()))


def pass_of(lm: LM, rows: list[tuple[int, ...]] | None = None) -> tuple[Tensor, Tensor]:
    """Logits of a padded pass, and the slope of a number made of them with respect to what the blocks read."""
    ids, mask = lm.pad(rows or ROWS)
    states = torch.linspace(-1, 1, ids.numel() * lm.layout.width).reshape(*ids.shape, -1).requires_grad_()
    base: Any = lm.module(lm.layout.base)
    taken = base.get_input_embeddings().register_forward_hook(lambda *_: states)
    try:
        with torch.enable_grad():
            out: Tensor = lm.model(input_ids=ids, attention_mask=mask).logits[mask.bool()]
            (slope,) = torch.autograd.grad(out.square().mean(), states)
    finally:
        taken.remove()
    return out.detach(), slope


@pytest.fixture(params=["by compiled loops", "without numba"], autouse=True)
def small_steps(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the module's tests in both; name which."""
    if request.param == "without numba":
        monkeypatch.setattr(compiled_steps, "has_compiler", lambda: False)
    elif not has_compiler():
        pytest.skip("numba is not installed")
    return str(request.param)
