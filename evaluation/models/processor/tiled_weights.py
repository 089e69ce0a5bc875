"""Products with weights kept in tiles: in the order in which a processor's product reads them.

On a CPU a product of few rows spends much of its time on bringing the weight into that order. The passes of the fast
engine read the same weights again and again, so a copy in tiles is made once, one for each direction that is used. The
module's own product is the slow twin, which this equals but for rounding. Only float32 on x86 processors is concerned.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from evaluation.models.activations import fused_activations
from evaluation.models.processor.fused_blocks import fused_blocks
from evaluation.models.processor.fused_steps import fused_steps
from evaluation.models.processor.tiles import MapByTiles

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

ROOM = 2**31
"""Bytes that a model's tiles may take. A larger model's weights are read as they lie, in larger products only."""


@contextmanager
def tiled_products(lm: LM) -> Iterator[None]:
    """Linear maps of the blocks, and the head, multiply by tiles in the block; nothing where that is of no use.

    Their weights must not be trained or changed in the block; changes from one block to the next are noticed. A CUDA
    device has no use for tiles; what it runs as one operation instead is in ``evaluation.models.activations``.
    """
    modules = _maps(lm) if can_tile(lm) else []
    entries = sum(module.weight.numel() for module in modules)  # type: ignore[union-attr,operator,misc]
    kept, spare = (bytes_each * entries <= ROOM for bytes_each in (8, 15))
    with ExitStack() as undo:
        for module in modules:
            if "forward" not in module.__dict__:  # what others put there, this function further out among them, stays
                undo.callback(module.__dict__.pop, "forward", None)
                module.forward = MapByTiles(module, kept=kept, spare=spare)
        if modules:
            undo.enter_context(fused_steps(lm))
            undo.enter_context(fused_blocks(lm))
        undo.enter_context(fused_activations(lm))
        yield


def can_tile(lm: LM) -> bool:
    """Whether tiles are of use: float32 weights on one x86 processor with a build of PyTorch that has the products."""
    return lm.dtype == torch.float32 and all(d.type == "cpu" for d in lm.devices) and has_tiles()


@cache
def has_tiles() -> bool:
    """Whether this build of PyTorch multiplies by tiles as it multiplies otherwise; tried with a few numbers."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    states, weight, bias = (
        torch.linspace(-1, 1, 96).reshape(6, 16),
        torch.linspace(-1, 1, 112).reshape(7, 16),
        torch.ones(7),
    )
    try:
        tiles = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        out = torch.ops.mkldnn._linear_pointwise(states, tiles, bias, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):  # no promise of PyTorch's; another release may have no such thing
        return False
    return bool(torch.allclose(out, nn.functional.linear(states, weight, bias), atol=1e-5))


def _maps(lm: LM) -> list[nn.Module]:
    blocks = [module for n in range(lm.layout.depth) for module in lm.block(n).modules()]
    return [module for module in (*blocks, lm.module(lm.layout.head)) if type(module) in (nn.Linear, Conv1D)]
