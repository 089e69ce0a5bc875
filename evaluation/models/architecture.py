"""Where things stand in a decoder: blocks, the MLP's projections, norms, head. Found from shapes and short passes.

The output projection of the MLP is what locate-and-edit methods change (ROME §3.1: keys are its inputs, values its
outputs). It is the linear map back to the residual width from the inner width of some other linear map of the same
block, outside the attention module. What shapes cannot tell is measured
(``evaluation.models.architecture_probing``): which norms a block
has and where, whether what is added to the MLP's output arrives whole in the block's output, whether attention and MLP
read the same residual, whether the head does more than multiply. No model is known by its name.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from torch import nn
from transformers.pytorch_utils import Conv1D

from evaluation.models.architecture_probing import measure
from schemas.core.errors import ModelError

VERSION = 2  # raise it when the same model would come out otherwise


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
        mlp_in: Names, inside a block, of the linear maps into the inner width; ``fused`` where one map holds two of
            them (gate and up).
        embedding: Name of the input embedding; ``tied`` where the head shares its weight.
        block_norms: Names, inside a block, of the norms over the residual's width, in the order in which they run.
        mlp_norm: The one of them that runs on the MLP's output, or None.
        additive: Whether a vector added to the projection's output is added, as it is, to the block's output. Where it
            is not (a norm follows the MLP), a method must not put a change of the residual into the projection.
        parallel: Whether the MLP does not see what the attention of its block wrote.
        soft_cap: Bound of the logits as the configuration gives it, or None.
        window: Smallest attention window of any layer in tokens, or None where all layers attend to everything.
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
    mlp_in: tuple[str, ...] = ()
    fused: bool = False
    embedding: str | None = None
    tied: bool = False
    block_norms: tuple[str, ...] = ()
    mlp_norm: str | None = None
    additive: bool = True
    parallel: bool = False
    soft_cap: float | None = None
    window: int | None = None

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
    base, head = _base_and_head(model)
    config = model.config.get_text_config()
    width = int(config.hidden_size)
    blocks = _blocks(base, depth=config.num_hidden_layers)
    inside = _common_projection(blocks, width=width, model_class=type(model).__name__)
    projection = blocks[0].get_submodule(inside)
    _, inner = linear_shape(projection) or (0, 0)
    into, fused = _inner_maps(blocks[0], inside, width=width, inner=inner)
    embedding = model.get_input_embeddings()
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
        positions=_takes_positions(model),
        mlp_in=into,
        fused=fused,
        embedding=names.get(embedding),
        tied=getattr(embedding, "weight", None) is getattr(head, "weight", 0),
        **_measure(model, base, head, blocks[-1], inside, width=width),
        soft_cap=_number(config, "final_logit_softcapping"),
        window=window(config),
    )


def _base_and_head(model: Any) -> tuple[nn.Module, nn.Module]:
    """The module that turns ids into hidden states, and the one that turns those into logits."""
    base = getattr(model, "base_model", None)
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if base is None or base is model or head is None:
        raise ModelError(f"{type(model).__name__} is no decoder with a language-model head")
    return base, head


def _common_projection(blocks: nn.ModuleList, *, width: int, model_class: str) -> str:
    """Name of the MLP's output projection inside every block; ``model_class`` is for the error."""
    inside = _projection(blocks[0], width=width)
    for i, block in enumerate(blocks):
        if _projection(block, width=width) != inside:
            raise ModelError(f"block {i} of {model_class} is built unlike block 0")
    return inside


def _measure(
    model: Any, base: nn.Module, head: nn.Module, block: nn.Module, inside: str, *, width: int
) -> dict[str, Any]:
    """What shapes cannot tell, measured on the last block: what it adds reaches the logits by norm and head alone."""
    seen = measure(
        model,
        base=base,
        head=head,
        block=block,
        projection=block.get_submodule(inside),
        norms=_norms_inside(block, width=width),
        attention=attention_of(block),
    )
    return {
        "plain_head": seen.plain_head,
        "block_norms": seen.norms,
        "mlp_norm": seen.mlp_norm,
        "additive": seen.additive,
        "parallel": seen.parallel,
    }


def check(layout: Layout, model: Any) -> bool:
    """Whether a remembered layout still fits a model: the modules that it names are there and of its sizes."""
    try:
        if len(model.get_submodule(layout.blocks)) != layout.depth:
            return False
        for layer in range(layout.depth):
            module = model.get_submodule(layout.projection(layer))
            if linear_shape(module) != (layout.width, layout.inner) or is_transposed(module) != layout.transposed:
                return False
        for name in (layout.base, layout.head, *filter(None, (layout.norm, layout.embedding))):
            model.get_submodule(name)
    except AttributeError:
        return False
    return True


def window(config: Any) -> int | None:
    """The smallest attention window that a configuration sets for any of its layers, or None."""
    kinds = getattr(config, "layer_types", None) or getattr(config, "attention_layers", None)
    if kinds is not None and not any(word in str(kind) for kind in kinds for word in ("sliding", "chunked", "local")):
        return None
    sizes = [_number(config, name) for name in ("sliding_window", "window_size", "attention_chunk_size")]
    return min((int(size) for size in sizes if size), default=None)


def _number(config: Any, name: str) -> float | None:
    value = getattr(config, name, None)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value else None


def _blocks(base: nn.Module, *, depth: int) -> nn.ModuleList:
    lists = [m for m in base.modules() if isinstance(m, nn.ModuleList) and len(m) and len({type(b) for b in m}) == 1]
    lists = [m for m in lists if len(m) == depth]
    if not lists:
        raise ModelError(f"{type(base).__name__} has no list of equal blocks")
    return max(lists, key=lambda m: sum(p.numel() for p in m.parameters()))


def _outside_attention(block: nn.Module) -> dict[str, tuple[int, int]]:
    return {
        name: shape
        for name, module in block.named_modules()
        if (shape := linear_shape(module)) and not _in_attention(block, name)
    }


def _projection(block: nn.Module, *, width: int) -> str:
    """Name of the MLP's output projection inside a block."""
    inside = _outside_attention(block)
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


def _inner_maps(block: nn.Module, out: str, *, width: int, inner: int) -> tuple[tuple[str, ...], bool]:
    """Names of the maps from the residual to the inner width, and whether one map holds two of them."""
    inside = _outside_attention(block)
    single = tuple(name for name, shape in inside.items() if shape == (inner, width) and name != out)
    return (single, False) if single else (tuple(n for n, s in inside.items() if s == (2 * inner, width)), True)


def attention_of(block: nn.Module) -> nn.Module | None:
    """The outermost module of a block whose class calls itself attention."""
    return next((m for m in block.modules() if m is not block and "attention" in type(m).__name__.lower()), None)


def _in_attention(block: nn.Module, name: str) -> bool:
    parts = name.split(".")
    above = [block.get_submodule(".".join(parts[:i])) for i in range(1, len(parts))]
    return any("attention" in type(m).__name__.lower() for m in above)


def _is_norm(module: nn.Module, *, width: int) -> bool:
    return linear_shape(module) is None and getattr(getattr(module, "weight", None), "shape", None) == (width,)


def _norms_inside(block: nn.Module, *, width: int) -> dict[str, nn.Module]:
    return {
        name: module
        for name, module in block.named_modules()
        if _is_norm(module, width=width) and not _in_attention(block, name)
    }


def _norm(names: dict[nn.Module, str], blocks: nn.ModuleList, *, width: int) -> str | None:
    """The last module beside the blocks that holds a vector of the residual's width as weight."""
    parent = names[blocks].rpartition(".")[0]
    found = [name for m, name in names.items() if name.rpartition(".")[0] == parent and _is_norm(m, width=width)]
    return found[-1] if found else None


def _takes_positions(model: nn.Module) -> bool:
    return "position_ids" in inspect.signature(model.forward).parameters
