"""Forward passes that leave out what is known: shared prefixes, blocks below an edited layer, and logits nobody reads.

A decoder never looks ahead, so tokens before a changed one are read once, and later passes continue from their
key-value cache. Blocks below an edited layer do not depend on the edit: they run once, and later passes start at the
layer. The head runs at the scored positions only.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPast

from evaluation.models.hooks import members, passing_over, stopping_before
from schemas.probes import Probe

if TYPE_CHECKING:
    from evaluation.edits.weight_deltas import Delta
    from evaluation.models.language_model import LM

_CACHE = "cache" if "cache" in BaseModelOutputWithPast.__dataclass_fields__ else "past_key_values"
"""What transformers calls keys and values of tokens that were read (``cache`` from 5.24 on)."""


class EditedProbes(NamedTuple):
    """Probes asked under one edit.

    Attributes:
        deltas: The edit's weight changes.
        rewrite: The edit's way with prompts, or None.
        probes: What is asked.
    """

    deltas: Sequence[Delta]
    rewrite: Callable[[str], str] | None
    probes: Sequence[Probe]


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
        return {"attention_mask": whole, "position_ids": places, _CACHE: past, "use_cache": True}

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
    read = base(input_ids=ids, attention_mask=seen, position_ids=places, use_cache=True)
    return Prefix(read[_CACHE], mask, mask.sum(1))


class LayerInput(NamedTuple):
    """What block ``layer`` reads, [rows, positions, width]; ``tuples``: members of what blocks return."""

    layer: int
    hidden: Tensor
    tuples: int


@torch.no_grad()
def run_until(lm: LM, layer: int, ids: Tensor, mask: Tensor, *, after: Prefix | None = None) -> LayerInput:
    """Run rows up to a block, which itself does not run any more.

    Args:
        lm: The model as it is to be below the layer.
        layer: The block, counted from 0.
        ids: Padded token ids, [rows, positions].
        mask: Their attention mask.
        after: Beginnings that the rows continue.
    """
    returned: list[int] = []
    more: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
    if after is not None:
        more = after.arguments(mask, limit=lm.limit)
    first_hook = lm.block(0).register_forward_hook(lambda *a: returned.append(members(a[2])))
    with first_hook, stopping_before(lm.block(layer)) as seen:
        lm.module(lm.layout.base)(input_ids=ids, **more)
    return LayerInput(layer, seen.input.detach(), returned[0] if returned else 0)


@contextmanager
def resume_at(lm: LM, layer_input: LayerInput) -> Iterator[None]:
    """Passes inside the block start at the input's layer, with its hidden states."""
    blocks = [lm.block(i) for i in range(layer_input.layer)]
    with passing_over(blocks, lm.block(layer_input.layer), layer_input.hidden, tuples=layer_input.tuples):
        yield


def logits_at(
    lm: LM,
    ids: Tensor,
    mask: Tensor,
    rows: Sequence[int] | Tensor,
    positions: Sequence[int] | Tensor,
    *,
    after: Prefix | None = None,
) -> Tensor:
    """Logits after the given positions, float32 [scored positions, vocabulary]; the head runs at these only.

    Args:
        lm: The model.
        ids: Right-padded token ids [rows, tokens].
        mask: Attention mask of the same shape.
        rows: Row of each scored position.
        positions: Position in that row.
        after: Stored prefixes that the rows continue; ids, mask and positions then count from their ends.
    """
    more: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
    if after is not None:
        more = after.arguments(mask, limit=lm.limit)
    plain = lm.layout.plain_head
    out = (lm.module(lm.layout.base) if plain else lm.model)(input_ids=ids, **more)
    values: Tensor = out.last_hidden_state if plain else out.logits
    if isinstance(rows, Tensor) and isinstance(positions, Tensor):  # values may be on another device (device map)
        rows, positions = rows.to(values.device), positions.to(values.device)
    chosen = values[rows, positions]
    return (lm.module(lm.layout.head)(chosen) if plain else chosen).to(lm.device).float()
