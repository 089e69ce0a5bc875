"""The linear maps of a decoder's blocks: their shapes, which write into the residual stream, which are experts."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn
from transformers.pytorch_utils import Conv1D

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def is_transposed(module: nn.Module) -> bool:
    """Whether a linear module keeps its weight as [in, out]."""
    return isinstance(module, Conv1D)


def linear_shape(module: nn.Module) -> tuple[int, int] | None:
    """(out, in) of a linear map, or None for any other module."""
    if isinstance(module, Conv1D):
        return int(module.weight.shape[1]), int(module.weight.shape[0])
    if isinstance(module, nn.Linear):
        return module.out_features, module.in_features
    return None


def expert_modules(block: nn.Module, *, width: int) -> tuple[str, ...]:
    """Names, inside a block, of the modules that hold experts; empty where it is no mixture of experts.

    Experts are kept as a list of equal modules with linear maps, or as parameters [experts, out, in] of which one size
    is the residual's width. Other weights with three sizes are none: convolutions, a vector for each position's mixture
    (RWKV), the blocks of a block-diagonal map (RecurrentGemma).
    """
    return tuple(name for name, module in block.named_modules() if name and _holds_experts(module, width=width))


def _holds_experts(module: nn.Module, *, width: int) -> bool:
    if isinstance(module, nn.ModuleList):
        return len(module) > 1 and len({type(m) for m in module}) == 1 and any(map(linear_shape, module.modules()))
    stacked = [p.shape for p in module.parameters(recurse=False) if p.ndim == 3]
    return not isinstance(module, CONVOLUTIONS) and any(min(shape) > 1 and width in shape[1:] for shape in stacked)


def maps_beside_experts(blocks: Sequence[nn.Module], *, width: int) -> list[tuple[str, ...]]:
    """Names of the linear maps that write vectors of the residual's width, for every block in its order.

    Parts of a block that hold experts in any block are left out whole, with their shared experts and routers.
    """
    parts = {name.partition(".")[0] for block in blocks for name in expert_modules(block, width=width)}
    return [
        tuple(
            name
            for name, module in block.named_modules()
            if (shape := linear_shape(module)) and shape[0] == width and name.partition(".")[0] not in parts
        )
        for block in blocks
    ]
