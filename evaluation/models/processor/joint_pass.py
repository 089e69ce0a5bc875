"""Rows of several lengths through a model's upper blocks in one pass, none of them padded.

Norms and linear maps do not care which row a token stands in: they run over all tokens at once, in products large
enough for the processor. Attention runs over each group of rows of one length, with what its rows continue. The
groups' own passes are the slow twin, which this equals but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from evaluation.models.processor.causal_attention import causal
from evaluation.models.processor.fused_blocks import KNOWN, AttentionHalf
from evaluation.models.processor.fused_steps import attend, is_short, normed, slopes_of_norm

if TYPE_CHECKING:
    from evaluation.models.processor.upper_pass import UpperBlocks, UpperPass


class Surroundings(NamedTuple):
    """What attention of a block gets besides states: turns of the positions, and what may be seen.

    Attributes:
        cos: [rows or 1, positions, size].
        sin: As the cosines.
        mask: Added to the scores or of truth values, [rows or 1, 1, positions, keys]; None: what stands before.
    """

    cos: Tensor
    sin: Tensor
    mask: Tensor | None


class UpperRows(NamedTuple):
    """Rows of one length as the model ran them through its upper blocks.

    Attributes:
        above: The blocks.
        given: What each gets.
    """

    above: UpperBlocks
    given: tuple[Surroundings, ...]

    @classmethod
    def of(cls, upper: UpperPass) -> UpperRows | None:
        """Rows of a pass that was recorded; None where its way is not known."""
        given = upper.given() if upper.is_known else []
        if not given or not all(KNOWN.issuperset(one) and one.get("position_embeddings") for one in given):
            return None
        turns = [(*one["position_embeddings"],) for one in given]
        masks = [one.get("attention_mask") for one in given]
        every = (Surroundings(cos, sin, mask) for (cos, sin), mask in zip(turns, masks, strict=True))
        return cls(upper.above, tuple(every))

    def select(self, index: Tensor, longest: int) -> UpperRows:
        """Some of the rows, as indices, without the padding behind ``longest`` positions."""
        selected: dict[tuple[int, ...], Surroundings] = {}  # blocks share them
        for one in self.given:
            if _key(one) not in selected:
                selected[_key(one)] = _selected(one, index, longest)
        return self._replace(given=tuple(selected[_key(one)] for one in self.given))


def _key(given: Surroundings) -> tuple[int, ...]:
    return tuple(map(id, given))


def _selected(given: Surroundings, index: Tensor, longest: int) -> Surroundings:
    cos, sin, mask = given
    fewer = cos.shape[1] - longest
    if len(cos) > 1:
        cos, sin = cos[index], sin[index]
    if mask is not None:
        mask = mask[index] if len(mask) > 1 else mask
        mask = mask[:, :, :longest, : mask.shape[-1] - fewer]
    return Surroundings(cos[:, :longest], sin[:, :longest], mask)


class RowGroup(NamedTuple):
    """A group of rows in a joint pass.

    Attributes:
        rows: How the model ran them.
        hidden: What the first block reads, [rows, positions, width].
        past: Key-value cache of what they continue, by layer; None where they begin anew.
        reads: Row and position of every wanted place.
    """

    rows: UpperRows
    hidden: Tensor
    past: Any
    reads: tuple[Sequence[int], Sequence[int]]


def joint_states(groups: Sequence[RowGroup]) -> Tensor | None:
    """What the head reads at the wanted places, group after group, [places, width].

    None where rows must go the model's own way.
    """
    above = groups[0].rows.above
    halves, states = above.halves, torch.cat([group.hidden.flatten(0, 1) for group in groups])
    if not above.are_bare(states):
        return None
    begin, spans, at = 0, [], []
    for group in groups:
        rows, places = group.hidden.shape[:2]
        spans.append((begin, rows, places))
        at += [begin + row * places + place for row, place in zip(*group.reads, strict=True)]
        begin += rows * places
    wanted = torch.tensor(at, device=states.device)
    layers = [
        [_Attended.of(group, n, half.attention, span) for group, span in zip(groups, spans, strict=True)]
        for n, half in enumerate(halves)
    ]
    if not all(rows.is_short for parts in layers for rows in parts):
        return None
    for half, parts in zip(halves, layers, strict=True):
        only = wanted if half is halves[-1] else None
        moved: Tensor = _JointAttention.apply(states, half.attention, parts, only)  # type: ignore[no-untyped-call]
        states = half.mlp.taken(moved)
    out: Tensor = above.norm(states)
    return out


class _Attended(NamedTuple):
    """Rows of one length as a block attends to them: they begin at a token, and continue keys and values."""

    begin: int
    rows: int
    places: int
    cos: Tensor
    sin: Tensor
    mask: Tensor | None
    past: tuple[Tensor, Tensor] | None  # [rows, heads, positions, size]

    @classmethod
    def of(cls, group: RowGroup, n: int, attention: AttentionHalf, span: tuple[int, int, int]) -> _Attended:
        """A group at the nth of the upper blocks."""
        cos, sin, mask = group.rows.given[n]
        past = None
        if group.past is not None:
            kept = group.past.layers[attention.layer]
            past = kept.keys, kept.values
        elif mask is None:
            mask = causal(span[2], span[2])
        return cls(*span, cos, sin, mask, past)

    @property
    def is_short(self) -> bool:
        """Whether all pairs of query and key may lie in memory."""
        keys = self.places + (0 if self.past is None else self.past[0].shape[2])
        return self.mask is not None and is_short(self.places, keys, self.mask, wanted=True)

    def update(self, key: Tensor, value: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Keys and values behind those that are continued; nothing is kept."""
        return tuple(torch.cat(pair, 2) for pair in zip(self.past or (), (key, value), strict=True))  # type: ignore[return-value]

    def part(self, flat: Tensor) -> Tensor:
        """The rows' part of a tensor by tokens, [rows, places, ...]."""
        return flat[self.begin : self.begin + self.rows * self.places].view(self.rows, self.places, *flat.shape[1:])


class _JointAttention(torch.autograd.Function):
    """Attention's half over rows of several lengths, [tokens, width]; the block's output at some tokens, or at all."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, half: AttentionHalf, parts: list[_Attended], only: Tensor | None) -> Tensor:
        read, scale = normed(states, half.norm.weight, half.norm)
        joint = half.joint.product(read).view(len(states), -1, half.size)
        out, kept = states.new_empty(len(states), half.heads, half.size), list[Tensor]()
        for rows in parts:
            past = None if rows.past is None else rows
            assert rows.mask is not None
            done = attend(*half.apart(rows.part(joint), rows.cos, rows.sin, past), rows.mask, half.scale)
            rows.part(out).copy_(done.out.transpose(1, 2))
            kept += done.kept
        ctx.save_for_backward(states, scale, *kept)
        ctx.half, ctx.joint, ctx.last, ctx.weight = half, half.joint, half.last, half.norm.weight
        ctx.parts, ctx.only = parts, only
        if only is not None:
            out, states = out[only], states[only]
        moved: Tensor = half.last.product(out.flatten(1))
        return moved.add_(states)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None, None]:
        states, scale, *kept = ctx.saved_tensors
        half, slope = ctx.half, slopes[0]
        attended = ctx.last.slope(slope)
        if ctx.only is not None:
            attended = attended.new_zeros(len(states), attended.shape[-1]).index_add_(0, ctx.only, attended)
            slope = torch.zeros_like(states).index_add_(0, ctx.only, slope)
        attended = attended.view(len(states), half.heads, half.size)
        whole = states.new_empty(len(states), half.every, half.size)
        for n, rows in enumerate(ctx.parts):
            half.slopes_apart(rows.part(attended), rows.cos, rows.sin, kept[4 * n : 4 * n + 4], out=rows.part(whole))
        read = ctx.joint.slope(whole.flatten(1))
        return slopes_of_norm(read, states, scale, ctx.weight, slope), None, None, None
