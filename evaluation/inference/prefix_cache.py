"""Beginnings of rows that never change, read once: later passes continue from their key-value cache.

A search that changes a hidden state at one token leaves everything before that token as it was, since a decoder never
looks ahead. So those tokens are read once, and every step of the search runs only what comes after them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from evaluation.models.language_model import LM


class Prefix(NamedTuple):
    """Key-value cache of right-padded beginnings, with their mask [rows, longest] and lengths [rows]."""

    past: Any
    mask: Tensor
    lengths: Tensor

    def arguments(self, mask: Tensor, *, limit: int | None) -> dict[str, Any]:
        """What a forward pass over the rests of the rows needs besides their ids; ``mask`` is theirs, [rows, rest].

        The pass gets a shallow copy of the cache and appends to that, so the prefix serves any number of passes.
        """
        past = copy.copy(self.past)
        past.layers = [copy.copy(layer) for layer in self.past.layers]
        places = self.lengths[:, None] + torch.arange(mask.shape[1], device=mask.device)
        if limit:  # padding may stand beyond the last position that the model knows
            places = places.clamp(max=limit - 1)
        whole = torch.cat([self.mask, mask], dim=1)
        return {"attention_mask": whole, "position_ids": places, "past_key_values": past, "use_cache": True}

    def select(self, rows: Tensor) -> Prefix:
        """The prefix of some of the rows, as indices; a row may come more than once."""
        past = copy.copy(self.past)
        past.layers = [copy.copy(layer) for layer in self.past.layers]
        for layer in past.layers:
            local_rows = rows.to(layer.keys.device)  # a model that is spread over devices keeps them by layer
            layer.keys, layer.values = layer.keys[local_rows], layer.values[local_rows]
        return Prefix(past, self.mask[rows], self.lengths[rows])


def can_share(lm: LM, longest: int) -> bool:
    """Whether rows of up to so many tokens can continue from a padded cache.

    The model must take positions and keep keys and values by position; a sliding window drops what padding pushes out
    of it, so near its length nothing is shared.
    """
    window = lm.layout.window
    return lm.layout.positions and not lm.layout.recurrent and (not window or 2 * longest <= window)


@torch.no_grad()
def read_prefix(lm: LM, rows: Sequence[Sequence[int]]) -> Prefix:
    """Read the beginnings of rows; some may be empty, not all."""
    ids, mask = lm.pad(rows)
    seen = mask.clone()
    seen[:, 0] = 1  # an empty row reads one pad token, which nothing attends to later: attention over nothing is NaN
    places = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
    base = lm.module(lm.layout.base)
    past = base(input_ids=ids, attention_mask=seen, position_ids=places, use_cache=True).past_key_values
    return Prefix(past, mask, mask.sum(1))
