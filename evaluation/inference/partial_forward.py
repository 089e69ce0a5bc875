"""Passes that begin in the middle of the model: at a block, from hidden states that were read there before.

What stands below an edited layer does not change with the edit. It is run once; every later pass, of a search's steps
or of scoring, starts at the layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from evaluation.inference.prefix_cache import Prefix
from evaluation.models.hooks import members, passing_over, stopping_before

if TYPE_CHECKING:
    from evaluation.models.language_model import LM


class LayerInput(NamedTuple):
    """What block ``layer`` reads, [rows, positions, width]; ``tuples``: members of what blocks return."""

    layer: int
    hidden: Tensor
    tuples: int

    def select(self, rows: Tensor) -> LayerInput:
        """Some of the rows, as indices."""
        return self._replace(hidden=self.hidden[rows])


@torch.no_grad()
def run_until(
    lm: LM, layer: int, ids: Tensor, mask: Tensor, *, after: Prefix | None = None, places: Tensor | None = None
) -> LayerInput:
    """Run rows up to a block, which itself does not run any more.

    Args:
        lm: The model as it is to be below the layer.
        layer: The block, counted from 0.
        ids: Padded token ids, [rows, positions].
        mask: Their attention mask.
        after: Beginnings that the rows continue.
        places: Position ids, where they are not simply counted (rows without ``after``).
    """
    returned: list[int] = []
    handle = lm.block(0).register_forward_hook(lambda *a: returned.append(members(a[2]))) if layer else None
    more: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
    if after is not None:
        more = after.arguments(mask, limit=lm.limit)
    elif places is not None:
        more["position_ids"] = places
    try:
        with stopping_before(lm.block(layer)) as seen:
            lm.module(lm.layout.base)(input_ids=ids, **more)
    finally:
        if handle is not None:
            handle.remove()
    return LayerInput(layer, seen.input.detach(), returned[0] if returned else 0)


@contextmanager
def resume_at(lm: LM, layer_input: LayerInput, hidden: Tensor | None = None) -> Iterator[None]:
    """Passes inside the block start at the input's layer, with its hidden states or with ``hidden`` in their place."""
    blocks = [lm.block(i) for i in range(layer_input.layer)]
    state = layer_input.hidden if hidden is None else hidden
    with passing_over(blocks, lm.block(layer_input.layer), state, tuples=layer_input.tuples):
        yield
