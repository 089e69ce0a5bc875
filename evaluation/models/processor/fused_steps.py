"""What stands between a block's products, in fewer operations: norms, gates, and attention over few queries.

On a CPU these small steps of a pass over short rows take a fourth of its time, mostly on the way to memory and back.
Here each is one function whose slope is written by hand: a norm reads its input twice less, a gate keeps no third
tensor, and attention leaves keys and values as they are where several heads of queries share them. The modules' own
forward is the slow twin, which each equals but for rounding; a module of another formula keeps it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.functional import silu
from transformers.activations import SiLUActivation
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

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
    attend = ALL_ATTENTION_FUNCTIONS["sdpa"]
    try:
        for module in lm.model.modules():
            kind = _kind_of(module)
            if kind and "forward" not in module.__dict__:  # what others put there stays
                module.forward = _norm_of(module) if kind == "norm" else _gated(module)
                placed.append(module)
        if not hasattr(attend, "own"):
            ALL_ATTENTION_FUNCTIONS["sdpa"] = _attending(attend)
        yield
    finally:
        for module in placed:
            module.__dict__.pop("forward", None)
        if not hasattr(attend, "own"):
            ALL_ATTENTION_FUNCTIONS["sdpa"] = attend


def _kind_of(module: nn.Module) -> str:
    """``norm``, ``gate`` or nothing, tried with a few numbers once for each module."""
    if module not in _KINDS:
        kind = ""
        if type(module).__name__.endswith("RMSNorm") and _eps(module) is not None:
            with _bare(module):
                kind = "norm" if _is_plain(module) else ""
        elif isinstance(getattr(module, "act_fn", None), (nn.SiLU, SiLUActivation)):
            with _bare(module):
                kind = "gate" if _is_gated(module) else ""
        _KINDS[module] = kind
    return _KINDS[module]


@contextmanager
def _bare(module: nn.Module) -> Iterator[None]:
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


def _eps(module: nn.Module) -> float | None:
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
        return torch.allclose(module(states), _normed(states, weight, module)[0], atol=1e-5, rtol=1e-5)
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


def _normed(states: Tensor, weight: Tensor, module: nn.Module) -> tuple[Tensor, Tensor]:
    """A norm's output, and 1/√(mean x² + ε) of every row."""
    size = torch.linalg.vector_norm(states, dim=-1, keepdim=True)
    scale = size.square_().div_(states.shape[-1]).add_(_eps(module) or 0.0).rsqrt_()
    return (states * scale).mul_(weight), scale


class _Norm(torch.autograd.Function):
    """A norm whose weight is not trained."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, module: nn.Module) -> Tensor:
        out, scale = _normed(states, weight, module)
        ctx.save_for_backward(states, scale)
        ctx.weight = weight
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        states, scale = ctx.saved_tensors
        weighted = slopes[0] * ctx.weight
        along = (weighted * states).sum(-1, keepdim=True).mul_(scale**3).div_(-states.shape[-1])
        return weighted.mul_(scale).addcmul_(states, along), None, None


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


class _Attention(torch.autograd.Function):
    """Attention of several query heads to each head of keys and values, all pairs in memory.

    Queries [rows, heads, queries, size]; keys and values [rows, fewer heads, keys, size]; mask [rows or 1, 1, queries,
    keys], of truth values or added to the scores. Returns [rows, heads, queries, size].
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float) -> Tensor:
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
        ctx.save_for_backward(query, key, value, shares)
        ctx.scale, ctx.heads = scale, heads
        return torch.bmm(shares, value).view(*heads, -1)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None, None]:
        query, key, value, shares = ctx.saved_tensors
        rows, heads, _ = ctx.heads
        slope = slopes[0].reshape(len(shares), -1, value.shape[-1])
        of_value = torch.bmm(shares.transpose(1, 2), slope).view(rows, -1, *value.shape[1:])
        of_scores = torch._softmax_backward_data(torch.bmm(slope, value.transpose(1, 2)), shares, -1, shares.dtype)
        none = query.new_empty(1)
        of_query = torch.baddbmm(none, of_scores, key, beta=0, alpha=ctx.scale).view(rows, heads, -1, query.shape[-1])
        of_key = torch.baddbmm(none, of_scores.transpose(1, 2), query, beta=0, alpha=ctx.scale)
        return of_query, of_key.view(rows, -1, *key.shape[1:]), of_value, None, None


def _norm_of(module: Any) -> Callable[[Tensor], Tensor]:
    own: Callable[[Tensor], Tensor] = module.forward

    def forward(hidden_states: Tensor) -> Tensor:
        weight = module.weight
        if weight.requires_grad or hidden_states.dtype != torch.float32:
            return own(hidden_states)
        if torch.is_grad_enabled() and hidden_states.requires_grad:
            return _Norm.apply(hidden_states, weight, module)  # type: ignore[no-any-return,no-untyped-call]
        return _normed(hidden_states, weight, module)[0]

    return forward


def _gated(module: Any) -> Callable[[Tensor], Tensor]:
    def forward(x: Tensor) -> Tensor:
        gate, up = module.gate_proj(x), module.up_proj(x)
        if torch.is_grad_enabled() and (gate.requires_grad or up.requires_grad):
            states = _Gate.apply(gate, up) if gate.numel() >= LARGE else silu(gate) * up  # type: ignore[no-untyped-call]
        else:
            states = silu(gate).mul_(up)
        out: Tensor = module.down_proj(states)
        return out

    return forward


def _attending(own: Callable[..., Any]) -> Callable[..., Any]:
    def attend(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **more: Any
    ) -> Any:
        if attention_mask is None or not _is_short(query, key, attention_mask, more):
            return own(module, query, key, value, attention_mask, **more)
        scale = more.get("scaling") or query.shape[-1] ** -0.5
        out: Tensor = _Attention.apply(query, key, value, attention_mask, scale)  # type: ignore[no-untyped-call]
        return out.transpose(1, 2).contiguous(), None

    attend.own = own  # type: ignore[attr-defined]
    return attend


def _is_short(query: Tensor, key: Tensor, mask: Tensor, more: dict[str, Any]) -> bool:
    """Whether attention is the usual one in float32 on a CPU, with few enough pairs of query and key."""
    queries, keys = query.shape[2], key.shape[2]
    usual = not more.get("dropout") and not any(more.get(name) is not None for name in ("position_bias", "cache"))
    usual = usual and not more.get("softcap") and not more.get("output_attentions")
    plain = query.device.type == "cpu" and query.dtype == torch.float32 and query.shape[1] % key.shape[1] == 0
    wanted = torch.is_grad_enabled() and query.requires_grad
    few = queries * keys <= PAIRS and (wanted or queries <= QUERIES)
    return usual and plain and few and mask.ndim == 4 and mask.shape[1:] == (1, queries, keys)
