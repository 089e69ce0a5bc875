"""A model's last block at the places that are read, where the head looks: a few of hundreds.

Above the last keys and values a token's state is its own affair. Keys and values are made for all tokens; queries,
attention, its output map and the MLP for those that are read. The block's whole pass is the slow twin, which this
equals there but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from evaluation.models.processor.causal_attention import causal
from evaluation.models.processor.fused_blocks import FusedBlock
from evaluation.models.processor.fused_steps import attend, normed, turned
from evaluation.models.processor.tiles import JointMap

if TYPE_CHECKING:
    from evaluation.models.language_model import LM


@contextmanager
def last_block_at(lm: LM, rows: Sequence[int], places: Sequence[int]) -> Iterator[bool]:
    """The last block gives zeros but at these places in the block, or all as before where it cannot.

    Args:
        lm: The model, inside ``tiled_products``.
        rows: Row of each place.
        places: Position in that row.

    Yields:
        Whether it does so where no slope is wanted.
    """
    block: Any = lm.block(lm.layout.depth - 1)
    whole = block.__dict__.get("forward")
    if type(whole) is not FusedBlock or not (whole.attention.is_bare and whole.mlp.is_bare):
        yield False
        return
    block.forward = _BlockAtPlaces(whole, rows, places)
    try:
        yield True
    finally:
        block.forward = whole


class _BlockAtPlaces:
    """A block's forward at some places alone, [rows, positions, width], zeros at all others."""

    def __init__(self, whole: FusedBlock, rows: Sequence[int], places: Sequence[int]) -> None:
        self._whole, self._rows, self._places = whole, torch.tensor(rows), torch.tensor(places)

    def __call__(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """As the block's own forward."""
        out = None if args else self._at_places(hidden_states, kwargs)
        return self._whole(hidden_states, *args, **kwargs) if out is None else out

    def _at_places(self, states: Tensor, more: dict[str, Any]) -> Tensor | None:
        whole, turns, mask = self._whole, more.get("position_embeddings"), more.get("attention_mask")
        few = states[self._rows, self._places]
        if turns is None or more.get("past_key_values") is not None or torch.is_grad_enabled():
            return None
        if mask is not None and mask.shape[1:] != (1, states.shape[1], states.shape[1]):
            return None
        if not whole.takes(states, more) or not all(
            one.is_free(some) for one in (whole.attention, whole.mlp) for some in (states, few)
        ):
            return None
        cos, sin = turns
        attended = whole.attention.moved(self._attended(states, cos, sin, mask), few)
        return torch.zeros_like(states).index_put_((self._rows, self._places), whole.mlp.run(attended))

    def _attended(self, states: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None) -> Tensor:
        """What attention gives at the places, [places, heads, size]."""
        half, rows, places = self._whole.attention, self._rows, self._places
        read, count = normed(states, half.norm.weight, half.norm)[0], states.shape[1]
        to_query, *others = half.maps[:-1]
        both = JointMap(others).product(read).view(len(states), count, -1, half.size).transpose(1, 2)
        few = half.turning - half.heads
        key, value = turned(both[:, :few], cos, sin), both[:, few:]
        query = to_query.product(read[rows, places]).view(len(rows), half.heads, 1, half.size)
        query = turned(query, *(one.expand(len(states), -1, -1)[rows, places][:, None] for one in (cos, sin)))
        mask = causal(count, count) if mask is None else mask
        seen = mask.expand(len(states), -1, -1, -1)[rows, :, places][:, :, None]
        return attend(query, key[rows], value[rows], seen, half.scale).out[:, :, 0]
