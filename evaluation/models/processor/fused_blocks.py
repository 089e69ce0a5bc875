"""A block's two halves as one function each: attention and MLP, with the norm before and the residual after them.

Between a block's products stand some thirty small steps, each a call through the module, its hooks and autograd. Here a
half is one call forth and one back, its slope written by hand, so that a pass over a few rows spends its time in
products. The block's own forward is the slow twin, which this equals but for rounding; a block of another formula
keeps its own, and so does a half on which an edit or a reading hangs, but for one on the MLP's last map where no slope
is wanted: it reads and changes the same numbers as without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, silu
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from evaluation.models.processor import compiled_steps
from evaluation.models.processor.causal_attention import causal
from evaluation.models.processor.fused_steps import (
    attend,
    bare,
    gated,
    is_ours,
    is_short,
    kind_of,
    normed,
    slopes_of_attention,
    slopes_of_norm,
    turn_back,
    turned,
)
from evaluation.models.processor.seven_products import gated_product
from evaluation.models.processor.tiles import JointMap, MapByTiles

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

KNOWN = {"attention_mask", "position_ids", "past_key_values", "use_cache", "position_embeddings"}
"""Arguments of a block besides the hidden states; with others it goes its own way."""

PARTS = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")

_FITS: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


@contextmanager
def fused_blocks(lm: LM) -> Iterator[None]:
    """Blocks of the usual formula run as two functions each in the block, where their maps multiply by tiles."""
    placed: list[nn.Module] = []
    try:
        for n in range(lm.layout.depth):
            block: Any = lm.block(n)
            if "forward" not in block.__dict__ and _fits(block):
                block.forward = FusedBlock(block)
                placed.append(block)
        yield
    finally:
        for block in placed:
            block.__dict__.pop("forward", None)


def _fits(block: nn.Module) -> bool:
    """Whether a block has the usual formula, tried with a few numbers once for each."""
    if block not in _FITS:
        with bare(block):
            _FITS[block] = _is_usual(block)
    return _FITS[block]


class _OwnMap:
    """A linear map by its own weight, to try a formula with."""

    kept = False

    def __init__(self, module: Any) -> None:
        self.module = module

    def product(self, states: Tensor) -> Tensor:
        return linear(states, self.module.weight, self.module.bias)


@torch.no_grad()
def _is_usual(block: Any) -> bool:
    parts: list[Any] = [getattr(block, name, None) for name in PARTS]
    if not all(isinstance(part, nn.Module) for part in parts):
        return False
    attention = parts[1]
    maps: list[Any] = [getattr(attention, name, None) for name in ("q_proj", "k_proj", "v_proj", "o_proj")]
    size, scale = getattr(attention, "head_dim", None), getattr(attention, "scaling", None)
    implementation = getattr(getattr(attention, "config", None), "_attn_implementation", None)
    if [kind_of(part) for part in (parts[0], *parts[2:])] != ["norm", "norm", "gate"] or implementation != "sdpa":
        return False
    if not all(type(one) is nn.Linear for one in maps) or not isinstance(size, int) or not isinstance(scale, float):
        return False
    width = maps[0].in_features
    states, turns = torch.linspace(-1, 2, 6 * width).reshape(2, 3, width), torch.linspace(0, 3, 3 * size)
    places = turns.reshape(1, 3, size)
    mask = torch.zeros(2, 1, 3, 3).masked_fill_(torch.ones(3, 3).triu_(1).bool(), torch.finfo(torch.float32).min)
    try:
        own = block(states, attention_mask=mask, position_embeddings=(places.cos(), places.sin()))
        trial = FusedBlock(block, take=_OwnMap)
        middle = trial.attention.run(states, places.cos(), places.sin(), mask, None)
        got = trial.mlp.run(middle)
    except (RuntimeError, TypeError, AttributeError, ValueError):
        return False
    return isinstance(own, Tensor) and torch.allclose(got, own, atol=1e-4 * float(own.abs().max()), rtol=1e-3)


class FusedBlock:
    """A block's forward in two halves.

    Args:
        block: The block.
        take: What a map becomes; by itself the map's forward, which must be one by tiles.
    """

    def __init__(self, block: Any, *, take: Callable[[Any], Any] | None = None) -> None:
        self._block, self._own = block, block.forward
        self.attention = AttentionHalf(block.input_layernorm, block.self_attn, take)
        self.mlp = MlpHalf(block.post_attention_layernorm, block.mlp, take)

    def __call__(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """As the block's own forward."""
        if args or not self.takes(hidden_states, kwargs):
            return self._own(hidden_states, *args, **kwargs)  # type: ignore[no-any-return]
        return self.mlp.taken(self.attended(hidden_states, kwargs))

    def takes(self, states: Tensor, more: dict[str, Any]) -> bool:
        """Whether states with these arguments may go by halves."""
        return states.dtype == torch.float32 and KNOWN.issuperset(more) and not self._block.training

    def attended(self, states: Tensor, more: dict[str, Any]) -> Tensor:
        """States between the halves, [rows, positions, width]."""
        middle = self.attention.taken(states, more)
        if middle is not None:
            return middle
        read = self._block.input_layernorm(states)
        return states + self._block.self_attn(hidden_states=read, **more)[0]  # type: ignore[no-any-return]


class _Half:
    """What both halves have: a norm, linear maps, and modules on which nothing may hang."""

    def __init__(self, norm: Any, inner: Any, names: tuple[str, ...], take: Callable[[Any], Any] | None) -> None:
        self.norm, self.inner = norm, inner
        self._linear = [getattr(inner, name) for name in names]
        *others, last = self._linear
        self._hung_last = last._forward_hooks
        self._hung = [last._forward_pre_hooks]
        self._hung += [hooks for m in (norm, inner, *others) for hooks in (m._forward_hooks, m._forward_pre_hooks)]
        self.maps: list[Any] = []
        if take:
            self._join([take(one) for one in self._linear])

    def _join(self, maps: list[Any]) -> None:
        """Those of the normed states become one."""
        self.maps, self.joint, self.last = maps, JointMap(maps[:-1]), maps[-1]

    @property
    def is_bare(self) -> bool:
        """Whether nothing hangs on the half."""
        return not self._hung_last and not any(self._hung)

    def is_free(self, states: Tensor) -> bool:
        """Whether the half may run as one function: nothing hangs on it, and its maps multiply by tiles."""
        return not self._hung_last and self.is_free_inside(states)

    def is_free_inside(self, states: Tensor) -> bool:
        """Whether it may but for what hangs on what the last map gives."""
        if any(self._hung) or not is_ours(self.norm) or self.norm.weight.requires_grad:
            return False
        maps = [one.__dict__.get("forward") for one in self._linear]
        if not all(type(one) is MapByTiles and one.can_multiply(states) for one in maps):
            return False
        if not all(new is old for new, old in zip_longest(maps, self.maps)):
            self._join(maps)
        return True


class AttentionHalf(_Half):
    """x + o(attention(norm(x)))."""

    def __init__(self, norm: Any, inner: Any, take: Callable[[Any], Any] | None) -> None:
        super().__init__(norm, inner, ("q_proj", "k_proj", "v_proj", "o_proj"), take)
        self.size, self.scale, self.layer = inner.head_dim, inner.scaling, getattr(inner, "layer_idx", 0)
        queries, keys, *_ = (one.out_features // self.size for one in self._linear)
        self.heads, self.turning, self.every = queries, queries + keys, queries + 2 * keys

    def taken(self, states: Tensor, more: dict[str, Any]) -> Tensor | None:
        """States after the half, [rows, positions, width]; None where it must go its own way."""
        turns, mask, past = (more.get(name) for name in ("position_embeddings", "attention_mask", "past_key_values"))
        if turns is None or not self.is_alone(states):
            return None
        wanted = torch.is_grad_enabled() and states.requires_grad
        cos, sin = turns
        if not wanted:
            return self.run(states, cos, sin, mask, past)
        places = states.shape[1]
        keys = places + (0 if past is None else past.get_seq_length(self.layer))
        if mask is None and keys == places:
            mask = causal(places, places)
        if mask is None or not is_short(places, keys, mask, wanted=True):
            return None
        return _AttentionSlope.apply(states, self, cos, sin, mask, past)  # type: ignore[no-any-return,no-untyped-call]

    def is_alone(self, states: Tensor) -> bool:
        """Whether the half may run as one function, and nobody else's forward stands in its place."""
        return "forward" not in self.inner.__dict__ and self.is_free(states)

    def read(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Queries, keys and values in one, [rows, positions, all heads, size], and the norm's scale."""
        read, scale = normed(states, self.norm.weight, self.norm)
        return self.joint.product(read).view(*states.shape[:2], -1, self.size), scale

    def apart(self, joint: Tensor, cos: Tensor, sin: Tensor, past: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, [rows, heads, positions, size], queries and keys turned by their positions.

        The joint tensor, [rows, positions, all heads, size], may be written over.
        """
        by_head = joint.transpose(1, 2)
        both, value = by_head[:, : self.turning], by_head[:, self.turning :]
        if compiled_steps.can_turn(joint, cos):
            compiled_steps.turn_heads(joint, cos, sin, self.turning)
        else:
            both = turned(both, cos, sin)
        query, key = both[:, : self.heads], both[:, self.heads :]
        if past is not None:
            key, value = past.update(key, value, self.layer)
        return query, key, value

    def slopes_apart(self, slope: Tensor, cos: Tensor, sin: Tensor, kept: Sequence[Tensor], *, out: Tensor) -> None:
        """The slope with respect to queries, keys and values in one, [rows, positions, all heads, size], written.

        Args:
            slope: That with respect to what attention gave, [rows, positions, heads, size].
            cos: As for ``apart``.
            sin: As for ``apart``.
            kept: What ``attend`` kept.
            out: Where it is written.
        """
        places = slope.shape[1]
        of_query, of_key, of_value = slopes_of_attention(slope.transpose(1, 2), kept, self.scale)
        by_head = out.transpose(1, 2)
        turn_back(of_query, cos, sin, by_head[:, : self.heads])
        turn_back(of_key[:, :, -places:], cos, sin, by_head[:, self.heads : self.turning])
        by_head[:, self.turning :] = of_value[:, :, -places:]

    def run(self, states: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, past: Any) -> Tensor:
        """The half without a slope."""
        joint, _ = self.read(states)
        if past is None and mask is not None and compiled_steps.can_attend(joint, cos, mask):
            short, _ = compiled_steps.attend(joint, cos, sin, mask, self.scale, self.heads)
            return self.moved(short, states)
        query, key, value = self.apart(joint, cos, sin, past)
        if mask is not None and is_short(query.shape[2], key.shape[2], mask, wanted=False):
            out = attend(query, key, value, mask, self.scale).out.transpose(1, 2)
        else:
            own = ALL_ATTENTION_FUNCTIONS["sdpa"]  # by parts, inside ``fused_steps``
            out = own(self.inner, query, key, value, mask, dropout=0.0, scaling=self.scale)[0]
        return self.moved(out, states)

    def moved(self, out: Tensor, states: Tensor) -> Tensor:
        """States [..., width] after the half, from what attention gave, [..., heads, size]."""
        moved: Tensor = self.last.product(out.flatten(-2))
        return moved.add_(states)


class MlpHalf(_Half):
    """x + down(silu(gate(norm(x))) · up(norm(x)))."""

    def __init__(self, norm: Any, inner: Any, take: Callable[[Any], Any] | None) -> None:
        super().__init__(norm, inner, ("gate_proj", "up_proj", "down_proj"), take)

    def taken(self, states: Tensor) -> Tensor:
        """States after the half, [rows, positions, width]."""
        hung = bool(self._hung_last)
        wanted = torch.is_grad_enabled() and (states.requires_grad or hung)  # what hangs may bring a slope
        if not is_ours(self.inner) or not self.is_free_inside(states) or (hung and wanted):
            return states + self.inner(self.norm(states))  # type: ignore[no-any-return]
        if wanted:
            return _MlpSlope.apply(states, self)  # type: ignore[no-any-return,no-untyped-call]
        return self.run(states)

    def run(self, states: Tensor) -> Tensor:
        """The half without a slope."""
        read = gated_product(self.joint, normed(states, self.norm.weight, self.norm)[0])
        if self._hung_last:
            return states + self._linear[-1](read)  # type: ignore[no-any-return]
        return self.last.product(read).add_(states)  # type: ignore[no-any-return]


class _MlpSlope(torch.autograd.Function):
    """The MLP's half, forth and back."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, half: MlpHalf) -> Tensor:
        read, scale = normed(states, half.norm.weight, half.norm)
        both = half.joint.product(read)
        ctx.save_for_backward(states, scale, both)
        ctx.joint, ctx.last, ctx.weight = half.joint, half.last, half.norm.weight
        moved: Tensor = half.last.product(gated(both))
        return moved.add_(states)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        states, scale, both = ctx.saved_tensors
        (gate, up), whole = both.chunk(2, -1), torch.empty_like(both)
        of_gate, of_up = whole.chunk(2, -1)
        inner = ctx.last.slope(slopes[0])
        torch.mul(silu(gate), inner, out=of_up)
        torch.ops.aten.silu_backward.grad_input(inner.mul_(up), gate, grad_input=of_gate)
        return slopes_of_norm(ctx.joint.slope(whole), states, scale, ctx.weight, slopes[0]), None


class _AttentionSlope(torch.autograd.Function):
    """Attention's half, forth and back; keys and values of earlier positions get no slope."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, half: AttentionHalf, cos: Tensor, sin: Tensor, mask: Tensor, past: Any
    ) -> Tensor:
        joint, scale = half.read(states)
        ctx.half, ctx.joint, ctx.last, ctx.weight = half, half.joint, half.last, half.norm.weight
        ctx.compiled = past is None and compiled_steps.can_attend(joint, cos, mask)
        if ctx.compiled:
            out, kept = compiled_steps.attend(joint, cos, sin, mask, half.scale, half.heads)
            ctx.save_for_backward(states, scale, *kept)
            return half.moved(out, states)
        done = attend(*half.apart(joint, cos, sin, past), mask, half.scale)
        ctx.save_for_backward(states, scale, cos, sin, *done.kept)
        return half.moved(done.out.transpose(1, 2), states)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None, None, None, None]:
        states, scale, *kept = ctx.saved_tensors
        if ctx.compiled:
            whole = compiled_steps.slope_of_attention(ctx.last.slope(slopes[0]), tuple(kept), ctx.half.scale)
        else:
            cos, sin, *kept = kept
            half, rows = ctx.half, slopes[0].shape[:2]
            whole = slopes[0].new_empty(*rows, half.every, half.size)
            half.slopes_apart(ctx.last.slope(slopes[0]).view(*rows, half.heads, -1), cos, sin, kept, out=whole)
        read = ctx.joint.slope(whole.view(*states.shape[:2], -1))
        return slopes_of_norm(read, states, scale, ctx.weight, slopes[0]), None, None, None, None, None
