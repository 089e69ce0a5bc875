"""What stands between a block's products, in fewer operations: norms, gates, and attention over few queries.

On a CPU these small steps of a pass over short rows take a fourth of its time, mostly on the way to memory and back.
Here each is one function whose slope is written by hand: a norm reads its input twice less, a gate keeps no third
tensor, and attention leaves keys and values as they are where several heads of queries share them. The modules' own
forward is the slow twin, which each equals but for rounding; a module of another formula keeps it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.functional import silu
from transformers.activations import SiLUActivation
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from evaluation.models.processor.causal_attention import attend_by_parts
from evaluation.models.processor.compiled_steps import can_gate, can_norm, gate, norm, slope_of_norm

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

PAIRS = 2**13
"""Pairs of query and key above which attention keeps its own way, which does not write them all to memory."""

QUERIES = 16
"""Queries of a row above which it does so where no slope is wanted."""

LARGE = 2**18
"""Entries from which on a gate is one function: of few, what is computed again costs more than what is not kept."""

_KINDS: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()


@contextmanager
def fused_steps(lm: LM) -> Iterator[None]:
    """Norms, gates and attention of the model run as one function each in the block; float32 on a CPU only."""
    placed: list[nn.Module] = []
    own_attention = ALL_ATTENTION_FUNCTIONS["sdpa"]
    try:
        for module in lm.model.modules():
            kind = kind_of(module)
            if kind and "forward" not in module.__dict__:  # what others put there stays
                module.forward = _norm_of(module) if kind == "norm" else _gate_of(module)
                placed.append(module)
        if not hasattr(own_attention, "own"):
            ALL_ATTENTION_FUNCTIONS["sdpa"] = _attending(own_attention)
        yield
    finally:
        for module in placed:
            module.__dict__.pop("forward", None)
        if not hasattr(own_attention, "own"):
            ALL_ATTENTION_FUNCTIONS["sdpa"] = own_attention


def kind_of(module: nn.Module) -> str:
    """``norm``, ``gate`` or nothing, tried with a few numbers once for each module."""
    if module not in _KINDS:
        kind = ""
        if type(module).__name__.endswith("RMSNorm") and eps_of(module) is not None:
            with bare(module):
                kind = "norm" if _is_plain(module) else ""
        elif isinstance(getattr(module, "act_fn", None), (nn.SiLU, SiLUActivation)):
            with bare(module):
                kind = "gate" if _is_gated(module) else ""
        _KINDS[module] = kind
    return _KINDS[module]


@contextmanager
def bare(module: nn.Module) -> Iterator[None]:
    """The module without what edits and readings hang on it: trying it is no pass of theirs."""
    hung = ("_forward_hooks", "_forward_pre_hooks", "forward")
    there = [(one, {name: one.__dict__[name] for name in hung if name in one.__dict__}) for one in module.modules()]
    try:
        for one, own in there:
            one.__dict__.pop("forward", None)
            one.__dict__.update({name: OrderedDict() for name in own if name != "forward"})
        yield
    finally:
        for one, own in there:
            one.__dict__.update(own)


def eps_of(module: nn.Module) -> float | None:
    """The ε of a norm, or nothing where it says none."""
    eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    return eps if isinstance(eps, float) else None


@torch.no_grad()
def _is_plain(module: Any) -> bool:
    """Whether a norm is x/√(mean x² + ε) times its weight; Gemma's adds 1 to the weight."""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor) or weight.ndim != 1:
        return False
    states = torch.linspace(-1, 2, 2 * len(weight)).reshape(2, -1)
    try:
        return torch.allclose(module(states), normed(states, weight, module)[0], atol=1e-5, rtol=1e-5)
    except (RuntimeError, TypeError):
        return False


@torch.no_grad()
def _is_gated(module: Any) -> bool:
    """Whether an MLP is down(silu(gate(x)) · up(x))."""
    maps = [getattr(module, name, None) for name in ("gate_proj", "up_proj", "down_proj")]
    if not all(isinstance(one, nn.Linear) for one in maps):
        return False
    states = torch.linspace(-1, 2, 2 * maps[0].in_features).reshape(1, 2, -1)  # type: ignore[union-attr]
    gate, up, down = (one.weight.detach().T for one in maps)  # type: ignore[union-attr]
    if any(one.bias is not None for one in maps):  # type: ignore[union-attr]
        return False
    try:
        own = module(states)
    except (RuntimeError, TypeError):
        return False
    return isinstance(own, Tensor) and torch.allclose(
        own, (silu(states @ gate) * (states @ up)) @ down, atol=1e-4, rtol=1e-3
    )


def normed(states: Tensor, weight: Tensor, module: nn.Module) -> tuple[Tensor, Tensor]:
    """A norm's output, and 1/√(mean x² + ε) of every row."""
    if can_norm(states, weight):
        return norm(states, weight, eps_of(module) or 0.0)
    size = torch.linalg.vector_norm(states, dim=-1, keepdim=True)
    scale = size.square_().div_(states.shape[-1]).add_(eps_of(module) or 0.0).rsqrt_()
    return (states * scale).mul_(weight), scale


class _Norm(torch.autograd.Function):
    """A norm whose weight is not trained."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, module: nn.Module) -> Tensor:
        out, scale = normed(states, weight, module)
        ctx.save_for_backward(states, scale)
        ctx.weight = weight
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        states, scale = ctx.saved_tensors
        return slopes_of_norm(slopes[0].clone(), states, scale, ctx.weight), None, None


def slopes_of_norm(slopes: Tensor, states: Tensor, scale: Tensor, weight: Tensor, more: Tensor | None = None) -> Tensor:
    """The slope with respect to a norm's input, and more, written over that with respect to its output."""
    if more is not None and can_norm(states, weight):
        return slope_of_norm(slopes, states, scale, weight, more)
    weighted = slopes.mul_(weight)
    along = (weighted * states).sum(-1, keepdim=True).mul_(scale**3).div_(-states.shape[-1])
    own = weighted.mul_(scale).addcmul_(states, along)
    return own if more is None else own.add_(more)


def gated(joint: Tensor) -> Tensor:
    """silu(a)·b, [..., width], of a and b side by side, [..., twice the width]; no slope is kept."""
    if can_gate(joint):
        return gate(joint)
    first, second = joint.chunk(2, -1)
    return silu(first).mul_(second)


class _Gate(torch.autograd.Function):
    """silu(a)·b."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        return silu(gate).mul_(up)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor]:
        gate, up = ctx.saved_tensors
        return torch.ops.aten.silu_backward(slopes[0] * up, gate), silu(gate).mul_(slopes[0])


class Attended(NamedTuple):
    """What attention makes.

    Attributes:
        out: [rows, heads, queries, size].
        kept: For its slope: queries, keys, values and shares, heads of a row that share keys one after the other.
    """

    out: Tensor
    kept: Sequence[Tensor]


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float) -> Attended:
    """Attention of several query heads to each head of keys and values, all pairs in memory.

    Args:
        query: [rows, heads, queries, size].
        key: [rows, fewer heads, keys, size], as is the value.
        value: As the key.
        mask: [rows or 1, 1, queries, keys], of truth values or added to the scores.
        scale: By which scores are multiplied.
    """
    heads, few = query.shape[:3], key.shape[0] * key.shape[1]
    query = query.reshape(few, -1, query.shape[-1])
    key, value = key.reshape(few, *key.shape[2:]), value.reshape(few, *value.shape[2:])
    scores = torch.baddbmm(query.new_empty(1), query, key.transpose(1, 2), beta=0, alpha=scale)
    by_head = scores.view(*heads, -1)
    if mask.dtype == torch.bool:
        by_head.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    else:
        by_head.add_(mask)
    shares = scores.softmax(-1)
    return Attended(torch.bmm(shares, value).view(*heads, -1), (query, key, value, shares))


def slopes_of_attention(slope: Tensor, kept: Sequence[Tensor], scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """Slopes of queries, keys and values, each shaped as in ``attend``, from that of the out and what it kept."""
    query, key, value, shares = kept
    rows, heads = slope.shape[:2]
    slope = slope.reshape(len(shares), -1, value.shape[-1])
    of_value = torch.bmm(shares.transpose(1, 2), slope).view(rows, -1, *value.shape[1:])
    of_scores = torch._softmax_backward_data(torch.bmm(slope, value.transpose(1, 2)), shares, -1, shares.dtype)
    none = query.new_empty(1)
    of_query = torch.baddbmm(none, of_scores, key, beta=0, alpha=scale).view(rows, heads, -1, query.shape[-1])
    of_key = torch.baddbmm(none, of_scores.transpose(1, 2), query, beta=0, alpha=scale)
    return of_query, of_key.view(rows, -1, *key.shape[1:]), of_value


def turned(states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: states [rows, heads, positions, size] and their turns [rows or 1, positions, size]."""
    cos, sin, half = cos[:, None], sin[:, None], states.shape[-1] // 2
    out = torch.mul(states, cos, out=states.new_empty(states.shape))
    out[..., :half].addcmul_(states[..., half:], sin[..., :half], value=-1)
    out[..., half:].addcmul_(states[..., :half], sin[..., half:])
    return out


def turn_back(slopes: Tensor, cos: Tensor, sin: Tensor, out: Tensor) -> None:
    """The slope of ``turned``, written to a tensor of the same shape."""
    cos, sin, half = cos[:, None], sin[:, None], slopes.shape[-1] // 2
    torch.mul(slopes, cos, out=out)
    out[..., :half].addcmul_(slopes[..., half:], sin[..., half:])
    out[..., half:].addcmul_(slopes[..., :half], sin[..., :half], value=-1)


class _Attention(torch.autograd.Function):
    """``attend`` with its slope."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float) -> Tensor:
        done = attend(query, key, value, mask, scale)
        ctx.save_for_backward(*done.kept)
        ctx.scale = scale
        return done.out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None, None]:
        of = slopes_of_attention(slopes[0], ctx.saved_tensors, ctx.scale)
        return *of, None, None


def _norm_of(module: Any) -> Callable[[Tensor], Tensor]:
    own: Callable[[Tensor], Tensor] = module.forward

    def forward(hidden_states: Tensor) -> Tensor:
        weight = module.weight
        if weight.requires_grad or hidden_states.dtype != torch.float32:
            return own(hidden_states)
        if torch.is_grad_enabled() and hidden_states.requires_grad:
            return _Norm.apply(hidden_states, weight, module)  # type: ignore[no-any-return,no-untyped-call]
        return normed(hidden_states, weight, module)[0]

    forward.fused = True  # type: ignore[attr-defined]
    return forward


def _gate_of(module: Any) -> Callable[[Tensor], Tensor]:
    def forward(x: Tensor) -> Tensor:
        gate, up = module.gate_proj(x), module.up_proj(x)
        if torch.is_grad_enabled() and (gate.requires_grad or up.requires_grad):
            states = _Gate.apply(gate, up) if gate.numel() >= LARGE else silu(gate) * up  # type: ignore[no-untyped-call]
        else:
            states = silu(gate).mul_(up)
        out: Tensor = module.down_proj(states)
        return out

    forward.fused = True  # type: ignore[attr-defined]
    return forward


def _attending(own: Callable[..., Any]) -> Callable[..., Any]:
    def run(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **more: Any
    ) -> Any:
        wanted, sizes = torch.is_grad_enabled() and query.requires_grad, (query.shape[2], key.shape[2])
        short = attention_mask is not None and is_short(*sizes, attention_mask, wanted=wanted)
        scale = more.get("scaling") or query.shape[-1] ** -0.5
        usual = _is_usual(query, key, more)
        if usual and not short and not wanted and (attention_mask is not None or _looks_back(module, *sizes, more)):
            parts = attend_by_parts(query, key, value, attention_mask, scale)
            if parts is not None:
                return parts, None
        if not short or not usual:
            return own(module, query, key, value, attention_mask, **more)
        out: Tensor = _Attention.apply(query, key, value, attention_mask, scale)  # type: ignore[no-untyped-call]
        return out.transpose(1, 2).contiguous(), None

    run.own = own  # type: ignore[attr-defined]
    return run


def _is_usual(query: Tensor, key: Tensor, more: dict[str, Any]) -> bool:
    """Whether attention is the usual one in float32 on a CPU."""
    usual = not more.get("dropout") and not any(more.get(name) is not None for name in ("position_bias", "cache"))
    usual = usual and not more.get("softcap") and not more.get("output_attentions")
    plain = query.device.type == "cpu" and query.dtype == torch.float32 and query.shape[1] % key.shape[1] == 0
    return usual and plain


def _looks_back(module: nn.Module, queries: int, keys: int, more: dict[str, Any]) -> bool:
    """Whether attention without a mask is over what stands before each query."""
    causal = more.get("is_causal")
    return queries == keys and bool(getattr(module, "is_causal", True) if causal is None else causal)


def is_short(queries: int, keys: int, mask: Tensor, *, wanted: bool) -> bool:
    """Whether a row has few enough pairs of query and key; ``wanted``: whether a slope is."""
    few = queries * keys <= PAIRS and (wanted or queries <= QUERIES)
    return few and mask.ndim == 4 and mask.shape[1:] == (1, queries, keys)


def is_ours(module: nn.Module) -> bool:
    """Whether a norm or an MLP runs as one function, and nobody else's has come in its place."""
    return hasattr(module.__dict__.get("forward"), "fused")
