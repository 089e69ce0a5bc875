"""The linear maps of a decoder's blocks: which write into the residual, which is the MLP's, where experts stand."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn
from transformers.pytorch_utils import Conv1D

from schemas.core.errors import ModelError

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


def common_projection(blocks: nn.ModuleList, *, width: int, inner: int | None, model_class: str) -> str:
    """Name of the MLP's output projection inside every block.

    It is the one map back to the residual that all blocks have, of one shape. Where there are several (a gate for
    the inputs of each layer beside the MLP), it is the one from the inner width that the configuration names.

    Args:
        blocks: The blocks.
        width: Size of the residual.
        inner: The MLP's inner width by the configuration, or None.
        model_class: For the error.

    Raises:
        ModelError: there is none, or it cannot be told which.
    """
    by_block = [_candidates(block, width=width) for block in blocks]
    for i, candidates in enumerate(by_block):
        if not candidates:
            raise ModelError(f"no MLP output projection in a block of class {type(blocks[i]).__name__}")
    common = {
        name: size for name, size in by_block[0].items() if all(candidates.get(name) == size for candidates in by_block)
    }
    if not common:
        i = next(i for i, candidates in enumerate(by_block) if candidates != by_block[0])
        raise ModelError(f"block {i} of {model_class} is built unlike block 0")
    chosen = list(common) if len(common) == 1 else [name for name, size in common.items() if size == inner]
    if len(chosen) != 1:
        raise ModelError(
            f"{len(common)} candidates for the MLP output projection in a block of class {type(blocks[0]).__name__}"
        )
    return chosen[0]


def _candidates(block: nn.Module, *, width: int) -> dict[str, int]:
    """Maps outside attention from some map's inner width back to the residual: name to that width."""
    inside = outside_attention(block)
    inner = {out for out, size in inside.values() if size == width}
    return {
        name: size
        for name, (out, size) in inside.items()
        if out == width and (size in inner or 2 * size in inner)  # twice: gate and up in one map
    }


def outside_attention(block: nn.Module) -> dict[str, tuple[int, int]]:
    """Shapes (out, in) of the linear maps of a block that are not part of its attention, by name."""
    return {
        name: shape
        for name, module in block.named_modules()
        if (shape := linear_shape(module)) and not in_attention(block, name)
    }


def attention_of(block: nn.Module) -> nn.Module | None:
    """The outermost module of a block whose class calls itself attention."""
    return next((m for m in block.modules() if m is not block and "attention" in type(m).__name__.lower()), None)


def in_attention(block: nn.Module, name: str) -> bool:
    """Whether a module of a block stands inside its attention."""
    parts = name.split(".")
    above = [block.get_submodule(".".join(parts[:i])) for i in range(1, len(parts))]
    return any("attention" in type(m).__name__.lower() for m in above)
