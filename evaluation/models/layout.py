"""Where the parts of a decoder are: a table of families by ``model_type``, and ``[layout]`` for any other model.

The output projection of the MLP is what locate-and-edit methods change (ROME, §3.1: keys are its inputs, values its
outputs). ``families.toml`` names it and the other parts for the architectures of transformers; sizes are read from the
weights. ``scedit model doctor`` tries whether a layout is right for a model.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn
from transformers.pytorch_utils import Conv1D

from evaluation.models.layout_choice import LayoutChoice, families
from schemas.core.errors import ModelError
from schemas.core.registry import suggest

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


HEAD_FIELDS = ("final_logit_softcapping", "logits_soft_cap", "logit_scale", "logits_scaling", "lm_head_multiplier")
"""Fields of a configuration that change logits after the head: a soft cap, or a factor other than 1."""
RESIDUAL_FIELDS = ("residual_multiplier", "mlp_multipliers")
"""Fields that scale what an MLP adds to the residual stream: a factor other than 1."""


@dataclass(frozen=True)
class Layout:
    """Names and sizes of a decoder's parts.

    Attributes:
        base: Name of the module that turns ids into final hidden states.
        blocks: Name of the list of blocks; ``depth`` is their number.
        mlp_out: Name, inside a block, of the MLP's output projection; empty for ``experts``.
        transposed: Whether its weight is stored as [in, out] (GPT-2's Conv1D) instead of [out, in].
        width: Size of the residual stream.
        inner: Input size of the projection, the length of a key.
        head: Name of the module that turns hidden states into logits.
        plain_head: Whether the head applied to the base's output gives the model's logits (no soft cap, no scaling).
        positions: Whether the model takes ``position_ids``.
        mlp_in: Names, inside a block, of the linear maps into the inner width.
        additive: Whether a vector added to the projection's output is added unchanged to the block's output. If not, a
            method must not write a change of the residual stream into the projection.
        window: Smallest attention window of any layer in tokens, or None if all layers attend to everything.
        experts: Whether a block is a mixture of experts: then no single map is the MLP's output projection, and only
            methods that do without that map can be used.
        recurrent: Whether a layer keeps a running state instead of keys and values (linear attention, convolutions):
            such a cache cannot be continued from padded prefixes.
        flat: Whether the MLP gets rows and positions as one axis (OPT); hooks give them back as two.
    """

    base: str
    blocks: str
    depth: int
    mlp_out: str
    transposed: bool
    width: int
    inner: int
    head: str
    plain_head: bool
    positions: bool
    mlp_in: tuple[str, ...] = ()
    additive: bool = True
    window: int | None = None
    experts: bool = False
    recurrent: bool = False
    flat: bool = False

    def block(self, layer: int) -> str:
        """Name of a block, counted from 0."""
        if not 0 <= layer < self.depth:
            raise ModelError(f"the model has no layer {layer}", allowed=f"0 to {self.depth - 1}")
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


def layout_of(model: Any, given: LayoutChoice | None = None) -> Layout:
    """The layout of a causal language model of transformers.

    Args:
        model: The model; only names, shapes and the configuration are read.
        given: Names of its parts, instead of the table's.

    Raises:
        ModelError: the table does not know the model and nothing is given, or a part is not there or has another shape.
    """
    names = _names(str(model.config.model_type), given)
    config = model.config.get_text_config(decoder=True)
    blocks, base = _part(model, names.blocks, "blocks"), _part(model, names.base, "base")
    head, width = model.get_output_embeddings(), int(config.hidden_size)
    if head is None or not isinstance(blocks, nn.ModuleList):
        raise ModelError(f"{type(model).__name__} is no decoder with a list of blocks and a language-model head")
    experts = any(expert_modules(block, width=width) for block in blocks)
    mlp = _experts_mlp(config, width) if experts else _mlp(blocks, names, width)
    return Layout(
        base=names.base,
        blocks=names.blocks,
        depth=len(blocks),
        width=width,
        head=next(name for name, module in model.named_modules() if module is head),
        plain_head=names.plain_head and not _scaled(config, HEAD_FIELDS),
        positions=_takes_positions(model) and _takes_positions(base),
        additive=experts or (names.additive and not _scaled(config, RESIDUAL_FIELDS)),
        window=attention_window(config),
        experts=experts,
        recurrent=names.recurrent,
        flat=names.flat and not experts,
        **mlp,
    )


def _names(kind: str, given: LayoutChoice | None) -> LayoutChoice:
    known = families()
    if given is None and kind not in known:
        raise ModelError(
            f"the layout of the model type '{kind}' is not known",
            fix="name its parts in the table [layout] of the run file (docs/models.md)",
        )
    if given is None:
        return known[kind]
    if given.like not in known:
        near = suggest(given.like, list(known))
        hint = f", did you mean '{near}'?" if near else ""
        raise ModelError(f"the model type '{given.like}' is not known{hint}", where="layout.like")
    return known[given.like].model_copy(update=given.model_dump(exclude_unset=True))


def _part(model: Any, name: str, field: str) -> nn.Module:
    try:
        part: nn.Module = model.get_submodule(name)
    except AttributeError:
        raise ModelError(f"{type(model).__name__} has no module '{name}'", where=f"layout.{field}") from None
    return part


def _mlp(blocks: nn.ModuleList, names: LayoutChoice, width: int) -> dict[str, Any]:
    """Names and sizes of the MLP's maps; every block must have the same."""
    projections = [_part(block, names.mlp_out, "mlp_out") for block in blocks]
    shapes = {linear_shape(projection) for projection in projections}
    shape = next(iter(shapes))
    if len(shapes) > 1 or shape is None or shape[0] != width:
        raise ModelError(
            f"'{names.mlp_out}' is not a linear map of one shape to the residual width {width} in every block",
            where="layout.mlp_out",
        )
    for name in names.mlp_in:
        _part(blocks[0], name, "mlp_in")
    transposed = is_transposed(projections[0])
    return {"mlp_out": names.mlp_out, "mlp_in": names.mlp_in, "transposed": transposed, "inner": shape[1]}


def _experts_mlp(config: Any, width: int) -> dict[str, Any]:
    sizes = ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size")
    inner = next((int(size) for name in sizes if isinstance(size := getattr(config, name, None), int)), 4 * width)
    return {"mlp_out": "", "transposed": False, "inner": inner}


def _scaled(config: Any, fields: tuple[str, ...]) -> bool:
    values = [getattr(config, field, None) for field in fields]
    numbers = [n for value in values for n in (value if isinstance(value, (list, tuple)) else [value])]
    return any(n not in (None, False, 1) for n in numbers)


def attention_window(config: Any) -> int | None:
    """The smallest attention window in tokens that a configuration sets for any of its layers, or None."""
    kinds = getattr(config, "layer_types", None) or getattr(config, "attention_layers", None)
    if kinds is not None and not any(word in str(kind) for kind in kinds for word in ("sliding", "chunked", "local")):
        return None
    sizes = [getattr(config, name, None) for name in ("sliding_window", "window_size", "attention_chunk_size")]
    return min((size for size in sizes if isinstance(size, int) and size), default=None)


def _takes_positions(module: nn.Module) -> bool:
    return "position_ids" in inspect.signature(module.forward).parameters
