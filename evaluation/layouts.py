"""Where things stand in a decoder: blocks, the MLP's output projection, final norm, head. Found from shapes, not names.

The output projection of the MLP is what locate-and-edit methods change (ROME §3.1: keys are its inputs, values its
outputs). It is the linear map back to the residual width from the inner width of some other linear map of the same
block, outside the attention module.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from schemas.errors import ModelError


@dataclass(frozen=True)
class Layout:
    """Names and sizes of a decoder's parts.

    Attributes:
        base: Name of the module that turns ids into final hidden states.
        blocks: Name of the list of blocks; ``depth`` is their number.
        mlp_out: Name, inside a block, of the MLP's output projection.
        transposed: Whether its weight is stored as [in, out] (GPT-2's Conv1D) instead of [out, in].
        width: Size of the residual stream. ``inner``: input size of the projection, the length of a key.
        norm: Name of the final norm, or None.
        head: Name of the module that turns hidden states into logits.
        plain_head: Whether the head applied to the base's output gives the model's logits (no soft cap, no scaling).
        positions: Whether the model takes ``position_ids``.
    """

    base: str
    blocks: str
    depth: int
    mlp_out: str
    transposed: bool
    width: int
    inner: int
    norm: str | None
    head: str
    plain_head: bool
    positions: bool

    def block(self, layer: int) -> str:
        """Name of a block, counted from 0."""
        self._check(layer)
        return f"{self.blocks}.{layer}"

    def projection(self, layer: int) -> str:
        """Name of a layer's MLP output projection."""
        return f"{self.block(layer)}.{self.mlp_out}"

    def weight(self, layer: int) -> str:
        """Name of that projection's weight parameter."""
        return f"{self.projection(layer)}.weight"

    def _check(self, layer: int) -> None:
        if not 0 <= layer < self.depth:
            raise ModelError(f"the model has no layer {layer}", allowed=f"0 to {self.depth - 1}")


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


def discover(model: Any) -> Layout:
    """The layout of a causal language model of transformers.

    Raises:
        ModelError: the model is no decoder, or its blocks or MLP are not of a shape that this program knows.
    """
    names = {module: name for name, module in model.named_modules()}
    base = getattr(model, "base_model", None)
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if base is None or base is model or head is None:
        raise ModelError(f"{type(model).__name__} is no decoder with a language-model head")
    config = model.config.get_text_config()
    width = int(config.hidden_size)
    blocks = _blocks(base, depth=config.num_hidden_layers)
    inside = _projection(blocks[0], width=width)
    projection = blocks[0].get_submodule(inside)
    _, inner = linear_shape(projection) or (0, 0)
    for i, block in enumerate(blocks):
        if _projection(block, width=width) != inside:
            raise ModelError(f"block {i} of {type(model).__name__} is built unlike block 0")
    plain = _probe(model, base, head)
    return Layout(
        base=names[base],
        blocks=names[blocks],
        depth=len(blocks),
        mlp_out=inside,
        transposed=is_transposed(projection),
        width=width,
        inner=inner,
        norm=_norm(names, blocks, width=width),
        head=names[head],
        plain_head=plain,
        positions=_takes_positions(model),
    )


def _blocks(base: nn.Module, *, depth: int) -> nn.ModuleList:
    lists = [m for m in base.modules() if isinstance(m, nn.ModuleList) and len(m) and len({type(b) for b in m}) == 1]
    lists = [m for m in lists if len(m) == depth]
    if not lists:
        raise ModelError(f"{type(base).__name__} has no list of equal blocks")
    return max(lists, key=lambda m: sum(p.numel() for p in m.parameters()))


def _projection(block: nn.Module, *, width: int) -> str:
    """Name of the MLP's output projection inside a block."""
    inside: dict[str, tuple[int, int]] = {
        name: shape
        for name, module in block.named_modules()
        if (shape := linear_shape(module)) and not _in_attention(block, name)
    }
    inner = {out for out, size in inside.values() if size == width}
    found = [
        name
        for name, (out, size) in inside.items()
        if out == width and (size in inner or 2 * size in inner)  # twice: gate and up in one map
    ]
    if len(found) != 1:
        what = "no MLP output projection" if not found else f"{len(found)} candidates for the MLP output projection"
        raise ModelError(f"{what} in a block of class {type(block).__name__} (mixtures of experts are not known)")
    return found[0]


def _in_attention(block: nn.Module, name: str) -> bool:
    parts = name.split(".")
    above = [block.get_submodule(".".join(parts[:i])) for i in range(1, len(parts))]
    return any("attention" in type(m).__name__.lower() for m in above)


def _norm(names: dict[nn.Module, str], blocks: nn.ModuleList, *, width: int) -> str | None:
    """The last module beside the blocks that holds a vector of the residual's width as weight."""
    parent = names[blocks].rpartition(".")[0]
    found = [
        name
        for module, name in names.items()
        if name.rpartition(".")[0] == parent and getattr(getattr(module, "weight", None), "shape", None) == (width,)
    ]
    return found[-1] if found else None


def _takes_positions(model: nn.Module) -> bool:
    return "position_ids" in inspect.signature(model.forward).parameters


@torch.no_grad()
def _probe(model: Any, base: Any, head: Any) -> bool:
    """Run two tokens: refuse models that look ahead; say whether head(base(x)) gives the model's logits."""
    device = next(model.parameters()).device
    ids = torch.tensor([[5, 6, 7], [5, 6, 8]], device=device) % head.weight.shape[0]
    training = model.training
    model.eval()
    try:
        logits: Tensor = model(ids, use_cache=False).logits.float()
        hidden = base(ids, use_cache=False).last_hidden_state
        plain = head(hidden).float()
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise ModelError(f"{type(model).__name__} cannot be run as a decoder: {error}") from None
    finally:
        model.train(training)
    same = logits[0, :2] - logits[1, :2]
    if logits.isfinite().all() and same.abs().max() > 1e-2 * logits[:, :2].abs().max():
        raise ModelError(f"{type(model).__name__} looks at later tokens: it is no decoder")
    return plain.shape == logits.shape and bool(torch.allclose(plain, logits, rtol=1e-3, atol=1e-3))
