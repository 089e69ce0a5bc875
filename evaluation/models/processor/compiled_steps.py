"""Norms, gates, turns, and attention of a few tokens, by compiled loops: a few calls where PyTorch takes many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from evaluation.models.processor.compilation import compiled, has_compiler
from evaluation.models.processor.kernels.gates import gate_forward, gate_of_seven
from evaluation.models.processor.kernels.operands import split_in_seven
from evaluation.models.processor.kernels.steps import (
    BARRED,
    attention_backward,
    mix_values,
    norm_backward,
    norm_forward,
    share_keys,
    turn,
    turn_back,
)
from evaluation.models.processor.kernels.tokens import add_some, norm_some

PLACES = 20
"""Tokens of a row up to which its attention takes less time in these loops than in PyTorch's products."""

SPARSE = 1 / 3
"""Share of allowed pairs up to which it does in longer rows (several texts in a row): loops pass over the others."""

ENTRIES = 2**18
"""Entries up to which a norm, a gate or a turn does where PyTorch has several threads."""


def can_norm(states: Tensor, weight: Tensor) -> bool:
    """Whether a norm of these states, [..., width], goes by a loop."""
    plain = weight.dtype == torch.float32 and weight.device.type == "cpu" and weight.is_contiguous()
    return plain and _goes_by_loop(states)


def _goes_by_loop(states: Tensor) -> bool:
    """Whether these are numbers that a loop on one thread takes no longer for than PyTorch on all."""
    plain = states.dtype == torch.float32 and states.device.type == "cpu"
    return plain and (states.numel() <= ENTRIES or torch.get_num_threads() == 1) and has_compiler()


def norm(states: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """A norm's output, and 1/√(mean x² + ε) of every row, [..., 1]."""
    states, width = states.detach().contiguous(), states.shape[-1]
    out, scales = torch.empty_like(states), states.new_empty(*states.shape[:-1], 1)
    given, written = states.view(-1, width).numpy(), out.view(-1, width).numpy()
    _run(norm_forward, given, weight.detach().numpy(), eps, written, _flat(scales))
    return out, scales


def norm_tokens(states: Tensor, at: Tensor, weight: Tensor, eps: float) -> Tensor:
    """A norm's output for some tokens, [some, width].

    Args:
        states: [..., width], such that ``can_norm``.
        at: Numbers of the tokens, int64 [some].
        weight: [width].
        eps: ε.
    """
    out = states.new_empty(len(at), states.shape[-1])
    _run(norm_some, _by_token(states), at.numpy(), weight.detach().numpy(), eps, out.numpy())
    return out


def add_tokens(states: Tensor, at: Tensor, more: Tensor) -> Tensor:
    """States, [..., width], with something added to some tokens, [some, width]; their numbers, [some], rise."""
    out = states.new_empty(states.shape)
    _run(add_some, _by_token(states), at.numpy(), more.numpy(), _by_token(out))
    return out


def _by_token(states: Tensor) -> object:
    return states.detach().contiguous().view(-1, states.shape[-1]).numpy()


def slope_of_norm(slopes: Tensor, states: Tensor, scales: Tensor, weight: Tensor, more: Tensor) -> Tensor:
    """The slope with respect to a norm's input, and more, written over that with respect to its output."""
    slopes, width = slopes.contiguous(), slopes.shape[-1]
    given = (one.detach().contiguous().view(-1, width).numpy() for one in (slopes, states))
    _run(norm_backward, *given, _flat(scales), weight.detach().numpy(), more.contiguous().view(-1, width).numpy())
    return slopes


def _flat(scales: Tensor) -> object:
    return scales.view(-1).numpy()


def can_gate(joint: Tensor) -> bool:
    """Whether a gate over two tensors side by side, [..., twice the width], goes by a loop."""
    return joint.is_contiguous() and _goes_by_loop(joint)


def gate(joint: Tensor) -> Tensor:
    """silu(a)·b, [..., width], of a and b side by side, [..., twice the width]; no slope is kept."""
    width = joint.shape[-1] // 2
    out = joint.new_empty(*joint.shape[:-1], width)
    _run(gate_forward, joint.detach().view(-1, 2 * width).numpy(), out.view(-1, width).numpy())
    return out


def operands_of_seven(states: Tensor) -> Tensor | None:
    """The left operands of Strassen's seven products, [7, about half the tokens, half the width].

    None where no loop can make them, and where an entry is not finite: its partner would not be either.

    Args:
        states: float32 [tokens, width].
    """
    if not states.is_contiguous() or not _goes_by_loop(states):
        return None
    half = -(-len(states) // 4) * 2  # a product takes longer for an odd number of rows
    out, check = states.new_empty(7, half, states.shape[1] // 2), states.new_empty(1)
    _run(split_in_seven, states.numpy(), out.numpy(), check.numpy())
    return out if float(check) == 0 else None


def gate_by_seven(products: Sequence[Tensor], tokens: int) -> Tensor:
    """silu(a)·b, [tokens, width], of the seven products that a and b are made of, [half the tokens, width] each."""
    out = products[0].new_empty(tokens, products[0].shape[1])
    _run(gate_of_seven, tuple(one.numpy() for one in products), out.numpy())
    return out


def can_turn(joint: Tensor, cos: Tensor) -> bool:
    """Whether heads of one tensor, [rows, places, heads, size], are turned by a loop."""
    rows, places, _, size = joint.shape
    fit = cos.shape[0] in (1, rows) and cos.shape[1:] == (places, size) and size % 2 == 0
    return fit and cos.dtype == torch.float32 and _goes_by_loop(joint)


def turn_heads(joint: Tensor, cos: Tensor, sin: Tensor, count: int) -> None:
    """Turn the first heads of [rows, places, heads, size] by their positions, in place; cos and sin as ``attend``'s."""
    _run(turn, joint.detach().numpy(), cos.contiguous().numpy(), sin.contiguous().numpy(), count)


def can_attend(joint: Tensor, cos: Tensor, mask: Tensor) -> bool:
    """Whether attention over queries, keys and values in one tensor, [rows, places, heads, size], goes by a loop."""
    rows, places, _, size = joint.shape
    if mask.dtype != torch.float32 or size % 2 or cos.shape[-1] != size or joint.device.type != "cpu":
        return False
    if mask.ndim != 4 or mask.shape[0] not in (1, rows) or mask.shape[1:] != (1, places, places):
        return False
    if cos.shape[0] not in (1, rows) or not has_compiler():
        return False
    return places <= PLACES or float((mask > float(BARRED)).float().mean()) <= SPARSE


def attend(
    joint: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, scale: float, heads: int
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """What attention gives, [rows, places, heads, size], and what its slope is made of.

    Args:
        joint: Queries, keys and values, float32 [rows, places, heads and twice the heads of keys, size]; written over.
        cos: Cosines of the positions, [rows or 1, places, size].
        sin: Sines of the positions, [rows or 1, places, size].
        mask: Added to the scores, [rows or 1, 1, places, places].
        scale: By which scores are multiplied.
        heads: Heads of queries.
    """
    rows, places, every, size = joint.shape
    cos, sin = cos.contiguous(), sin.contiguous()
    shares, out = joint.new_empty(rows, heads, places, places), joint.new_empty(rows, places, heads, size)
    states, written = joint.numpy(), shares.numpy()
    _run(turn, states, cos.numpy(), sin.numpy(), (every + heads) // 2)
    _run(share_keys, states, mask[:, 0].contiguous().numpy(), scale, heads, written)
    _run(mix_values, states, heads, written, out.numpy())
    return out, (joint, cos, sin, shares)


def slope_of_attention(slopes: Tensor, kept: tuple[Tensor, ...], scale: float) -> Tensor:
    """The slope with respect to ``attend``'s joint tensor, from that of what it gave and what it kept."""
    joint, cos, sin, shares = kept
    out, heads = torch.empty_like(joint), shares.shape[1]
    given = slopes.contiguous().view(*joint.shape[:2], heads, -1).numpy()
    _run(attention_backward, joint.numpy(), scale, heads, shares.numpy(), given, out.numpy())
    _run(turn_back, out.numpy(), cos.numpy(), sin.numpy(), (joint.shape[2] + heads) // 2)
    return out


def _run(loop: Callable[..., None], *arguments: object) -> None:
    run = compiled(loop)
    assert run is not None
    run(*arguments)
