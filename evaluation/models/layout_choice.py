"""Names of a decoder's parts: the table of families, and ``[layout]`` in a run file. Read without a model."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from schemas.core.config import Options


class LayoutChoice(Options):
    """Names of a decoder's parts, as in the table ``[layout]`` of a run file; what is left out is as in ``like``.

    Attributes:
        like: A model type that the table knows.
        base: Module that turns token ids into final hidden states.
        blocks: List of the decoder's blocks.
        mlp_out: Inside a block, the MLP's output projection.
        mlp_in: Inside a block, the linear maps from the residual stream into the MLP.
        plain_head: Whether the head applied to the base's output gives the model's logits.
        additive: Whether what is added to the projection's output arrives unchanged in the block's output. It does not
            if a norm follows the MLP.
        recurrent: Whether a layer keeps a running state instead of keys and values by position.
        flat: Whether the MLP gets rows and positions as one axis (OPT).
    """

    like: str = "llama"
    base: str = "model"
    blocks: str = "model.layers"
    mlp_out: str = "mlp.down_proj"
    mlp_in: tuple[str, ...] = ("mlp.gate_proj", "mlp.up_proj")
    plain_head: bool = True
    additive: bool = True
    recurrent: bool = False
    flat: bool = False


@cache
def families() -> dict[str, LayoutChoice]:
    """The table: a layout for every model type."""
    table = tomllib.loads((files("evaluation.models") / "families.toml").read_text(encoding="utf-8"))
    return {kind: LayoutChoice(**{**row, "like": kind}) for row in table["family"] for kind in row.pop("types")}
