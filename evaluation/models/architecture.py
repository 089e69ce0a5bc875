"""Where things stand in a decoder: blocks, the MLP's projections, norms, head. Found from shapes and short passes.

The output projection of the MLP is what locate-and-edit methods change (ROME §3.1: keys are its inputs, values its
outputs). It is the linear map back to the residual width from the inner width of some other linear map of the same
block, outside the attention module (``evaluation.models.linear_maps``). What shapes cannot tell is measured
(``evaluation.models.architecture_probing``): which norms a block
has and where, whether what is added to the MLP's output arrives whole in the block's output, whether attention and MLP
read the same residual, whether the head does more than multiply. No model is known by its name.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from torch import nn

from evaluation.models.architecture_probing import measure, outermost_called
from evaluation.models.linear_maps import (
    attention_of,
    common_projection,
    expert_modules,
    in_attention,
    is_transposed,
    linear_shape,
    outside_attention,
)
from schemas.core.errors import ModelError

VERSION = 4  # raise it when the same model would come out otherwise


@dataclass(frozen=True)
class Layout:
    """Names and sizes of a decoder's parts.

    Attributes:
        base: Name of the module that turns ids into final hidden states.
        blocks: Name of the list of blocks; ``depth`` is their number.
        mlp_out: Name, inside a block, of the MLP's output projection; empty where ``experts``.
        transposed: Whether its weight is stored as [in, out] (GPT-2's Conv1D) instead of [out, in].
        width: Size of the residual stream.
        inner: Input size of the projection, the length of a key.
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
        experts: Whether a block is a mixture of experts: then no single map is the MLP's output projection, ``inner``
            is the configuration's, and only methods that do without that map can be used.
        recurrent: Whether a layer keeps a running state instead of keys and values (linear attention, convolutions):
            such a cache cannot be continued from padded beginnings.
        flat: Whether the MLP gets rows and positions as one axis (OPT); hooks give them back as two.
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
    experts: bool = False
    recurrent: bool = False
    flat: bool = False

    def block(self, layer: int) -> str:
        """Name of a block, counted from 0."""
        self._check(layer)
        return f"{self.blocks}.{layer}"

    def projection(self, layer: int) -> str:
        """Name of a layer's MLP output projection.

        Raises:
            ModelError: the blocks are mixtures of experts, which have no such map.
        """
        if not self.mlp_out:
            raise ModelError(
                "the model's blocks are mixtures of experts: no single map is the MLP's output projection",
                fix="use a method in context (prompt, ike ...) or lora",
            )
        return f"{self.block(layer)}.{self.mlp_out}"

    def weight(self, layer: int) -> str:
        """Name of that projection's weight parameter."""
        return f"{self.projection(layer)}.weight"

    def _check(self, layer: int) -> None:
        if not 0 <= layer < self.depth:
            raise ModelError(f"the model has no layer {layer}", allowed=f"0 to {self.depth - 1}")


def discover(model: Any) -> Layout:
    """The layout of a causal language model of transformers.

    Raises:
        ModelError: the model is no decoder, or its blocks or MLP are not of a shape that this program knows.
    """
    names = {module: name for name, module in model.named_modules()}
    base, head = _base_and_head(model)
    config = model.config.get_text_config(decoder=True)
    width = int(config.hidden_size)
    blocks = _blocks(base, depth=config.num_hidden_layers)
    mlp = _mlp(config, blocks, width=width, model_class=type(model).__name__)
    base = outermost_called(model, base, blocks)
    embedding = model.get_input_embeddings()
    return Layout(
        base=names[base],
        blocks=names[blocks],
        depth=len(blocks),
        width=width,
        norm=_norm(names, blocks, width=width),
        head=names[head],
        positions=_takes_positions(model) and _takes_positions(base),
        embedding=names.get(embedding),
        tied=getattr(embedding, "weight", None) is getattr(head, "weight", 0),
        **mlp,
        **_measure(model, base, head, blocks[-1], mlp["mlp_out"], width=width),
        soft_cap=_number(config, "final_logit_softcapping"),
        window=window(config),
    )


def _mlp(config: Any, blocks: nn.ModuleList, *, width: int, model_class: str) -> dict[str, Any]:
    """Names and sizes of the MLP's projections; none of them in a mixture of experts."""
    sizes = ("intermediate_size", "ffn_dim", "decoder_ffn_dim", "n_inner", "ffn_hidden_size")
    configured_size = next((int(size) for name in sizes if (size := _number(config, name))), None)
    if any(expert_modules(block, width=width) for block in blocks):
        return {"mlp_out": "", "transposed": False, "inner": configured_size or 4 * width, "experts": True}
    inside = common_projection(blocks, width=width, inner=configured_size, model_class=model_class)
    projection = blocks[0].get_submodule(inside)
    _, inner = linear_shape(projection) or (0, 0)
    into, fused = _inner_maps(blocks[0], inside, width=width, inner=inner)
    return {
        "mlp_out": inside,
        "transposed": is_transposed(projection),
        "inner": inner,
        "mlp_in": into,
        "fused": fused,
    }


def _base_and_head(model: Any) -> tuple[nn.Module, nn.Module]:
    """The module that turns ids into hidden states, and the one that turns those into logits."""
    base: Any = getattr(model, "base_model", None)
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if (
        base is not None and base is model and head is not None
    ):  # its class names its base otherwise than it calls it (Llama 4)
        embedding = model.get_input_embeddings()
        base = next((child for child in model.children() if embedding in set(child.modules())), None)
    if base is None or base is model or head is None:
        raise ModelError(f"{type(model).__name__} is no decoder with a language-model head")
    return base, head


def _measure(
    model: Any, base: nn.Module, head: nn.Module, block: nn.Module, inside: str, *, width: int
) -> dict[str, Any]:
    """What shapes cannot tell, measured on the last block: what it adds reaches the logits by norm and head alone."""
    seen = measure(
        model,
        base=base,
        head=head,
        block=block,
        projection=block.get_submodule(inside) if inside else None,
        norms=_norms_inside(block, width=width),
        attention=attention_of(block),
    )
    return {
        "plain_head": seen.plain_head,
        "block_norms": seen.norms,
        "mlp_norm": seen.mlp_norm,
        "additive": seen.additive,
        "parallel": seen.parallel,
        "recurrent": seen.recurrent,
        "flat": seen.flat,
    }


def check(layout: Layout, model: Any) -> bool:
    """Whether a remembered layout still fits a model: the modules that it names are there and of its sizes."""
    try:
        if len(model.get_submodule(layout.blocks)) != layout.depth:
            return False
        for layer in range(0 if layout.experts else layout.depth):
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


def _inner_maps(block: nn.Module, out: str, *, width: int, inner: int) -> tuple[tuple[str, ...], bool]:
    """Names of the maps from the residual to the inner width, and whether one map holds two of them."""
    inside = outside_attention(block)
    single = tuple(name for name, shape in inside.items() if shape == (inner, width) and name != out)
    return (single, False) if single else (tuple(n for n, s in inside.items() if s == (2 * inner, width)), True)


def _is_norm(module: nn.Module, *, width: int) -> bool:
    return linear_shape(module) is None and getattr(getattr(module, "weight", None), "shape", None) == (width,)


def _norms_inside(block: nn.Module, *, width: int) -> dict[str, nn.Module]:
    return {
        name: module
        for name, module in block.named_modules()
        if _is_norm(module, width=width) and not in_attention(block, name)
    }


def _norm(names: dict[nn.Module, str], blocks: nn.ModuleList, *, width: int) -> str | None:
    """The last module beside the blocks that holds a vector of the residual's width as weight."""
    parent = names[blocks].rpartition(".")[0]
    norms = [name for m, name in names.items() if name.rpartition(".")[0] == parent and _is_norm(m, width=width)]
    return norms[-1] if norms else None


def _takes_positions(model: nn.Module) -> bool:
    return "position_ids" in inspect.signature(model.forward).parameters
