"""Passes of the same rows through a model's upper blocks, without the model's own forward around them.

A training step runs the rows that the step before ran, through the blocks above the trained layer. One pass of the
model's own shows what it gives these blocks (masks, turns of positions) and that a norm and the head follow. From then
on a pass calls the blocks alone; the last MLP, the norm and the head run only at the places that are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from evaluation.models.hooks import first_tensor
from evaluation.models.processor.fused_blocks import FusedBlock

if TYPE_CHECKING:
    from evaluation.models.language_model import LM


class UpperBlocks:
    """The blocks from a layer on, and the norm behind them.

    Args:
        lm: The model.
        layer: The first of the blocks, counted from 0.
    """

    def __init__(self, lm: LM, layer: int) -> None:
        self.blocks: list[Any] = [lm.block(n) for n in range(layer, lm.layout.depth)]
        self.norm: Any = getattr(lm.module(lm.layout.base), "norm", None)

    @property
    def halves(self) -> list[FusedBlock]:
        """The blocks' forwards in two halves; none where one of them goes another way."""
        forwards = [block.__dict__.get("forward") for block in self.blocks]
        return forwards if all(type(one) is FusedBlock for one in forwards) else []

    def are_bare(self, states: Tensor) -> bool:
        """Whether all of the blocks may run as two functions each over these states: nothing hangs on them."""
        if not self.halves or any(block._forward_hooks or block._forward_pre_hooks for block in self.blocks):
            return False
        return all(half.takes(states, {}) and half.attention.is_alone(states) for half in self.halves)


class UpperPass:
    """The blocks from a layer on, as one pass of the model ran them.

    Args:
        lm: The model.
        layer: The first of the blocks, counted from 0.
    """

    def __init__(self, lm: LM, layer: int) -> None:
        self.above = UpperBlocks(lm, layer)
        self._head: Any = lm.module(lm.layout.head) if lm.layout.plain_head else None
        self._base: Any = lm.module(lm.layout.base)
        self._given: dict[nn.Module, dict[str, Any]] = {}
        self.is_known = False
        """Whether a pass was seen, and nothing but a norm stands between the last block and the head."""

    @contextmanager
    def record(self) -> Iterator[None]:
        """Note how the model's own pass in the block goes."""
        if self._head is None or not isinstance(self.above.norm, nn.Module) or not self.above.halves:
            yield
            return
        after: list[Tensor] = []  # what the last block gave; what the norm read and gave; what the model gave
        hooks = [block.register_forward_pre_hook(self._note_given, with_kwargs=True) for block in self.above.blocks]
        hooks.append(self.above.blocks[-1].register_forward_hook(lambda *a: after.append(first_tensor(a[2]))))
        hooks.append(self.above.norm.register_forward_hook(lambda *a: after.extend((a[1][0], a[2]))))
        hooks.append(self._base.register_forward_hook(lambda *a: after.append(a[2].last_hidden_state)))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
        whole = len(self._given) == len(self.above.blocks) and len(after) == 4
        self.is_known = whole and after[0] is after[1] and after[2] is after[3]

    def _note_given(self, block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if len(args) < 2:  # else it is given what no half knows
            self._given[block] = {name: value for name, value in kwargs.items() if name != "hidden_states"}

    def given(self) -> list[dict[str, Any]]:
        """What the model gives each of the blocks besides hidden states."""
        return [self._given[block] for block in self.above.blocks]

    def states(self, hidden: Tensor, rows: Sequence[int], places: Sequence[int]) -> Tensor | None:
        """What the head reads at some places, [places, width]; None where the model's own pass must be run.

        Args:
            hidden: What the first block reads, [rows, positions, width], of the shape that was recorded.
            rows: Row of each wanted place.
            places: Position in that row.
        """
        halves = self.above.halves
        if not halves or not self.is_known:
            return None
        last, by_halves = self.above.blocks[-1], halves[-1]
        given = self._given[last]
        if last._forward_hooks or last._forward_pre_hooks or not by_halves.takes(hidden, given):
            return None
        if not by_halves.mlp.is_free(hidden):
            return None
        for block in self.above.blocks[:-1]:
            hidden = block(hidden, **self._given[block])
        at = torch.tensor([rows, places], device=hidden.device)
        read: Tensor = self.above.norm(by_halves.mlp.taken(by_halves.attended(hidden, given)[at[0], at[1]]))
        return read
