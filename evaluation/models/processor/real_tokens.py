"""MLPs of the tokens of rows without their padding.

Rows of one pass are filled up to the longest. Nobody reads what stands there, and an MLP takes each token by itself, so
blocks below the last leave the padding out of it. The whole rows are the slow twin, which this equals at the tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from evaluation.models.processor.compiled_steps import add_tokens, can_norm, norm_tokens
from evaluation.models.processor.fused_blocks import FusedBlock
from evaluation.models.processor.fused_steps import eps_of, is_ours
from evaluation.models.processor.seven_products import gated_product

if TYPE_CHECKING:
    from evaluation.models.language_model import LM


@contextmanager
def real_tokens(lm: LM, lengths: Sequence[int]) -> Iterator[None]:
    """In passes over rows of these lengths, padded at their ends, MLPs below the last block leave the padding as it is.

    Args:
        lm: The model, inside ``tiled_products``; a block that is no ``FusedBlock`` there keeps its way.
        lengths: Tokens of every row.
    """
    longest = max(lengths)
    blocks: list[Any] = [lm.block(n) for n in range(lm.layout.depth - 1)] if min(lengths) < longest else []
    placed = [(block, whole) for block in blocks if type(whole := block.__dict__.get("forward")) is FusedBlock]
    if not placed:
        yield
        return
    real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    at = real.flatten().nonzero()[:, 0]
    try:
        for block, whole in placed:
            block.forward = _BlockOfTokens(whole, (len(lengths), longest), at)
        yield
    finally:
        for block, whole in placed:
            block.forward = whole


class _BlockOfTokens:
    """A block's forward whose MLP takes some tokens, [rows, positions, width].

    Args:
        whole: The block's forward for all.
        shape: Rows and positions for which the tokens are named; other states go the whole way.
        at: Numbers of the tokens, counted through the rows, rising, int64 [tokens].
    """

    def __init__(self, whole: FusedBlock, shape: tuple[int, int], at: Tensor) -> None:
        self._whole, self._shape, self._at = whole, shape, at

    def __call__(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """As the block's own forward."""
        whole = self._whole
        if args or hidden_states.shape[:2] != self._shape or not whole.takes(hidden_states, kwargs):
            return whole(hidden_states, *args, **kwargs)
        states = whole.attended(hidden_states, kwargs)
        half, norm = whole.mlp, whole.mlp.norm
        if torch.is_grad_enabled() or not is_ours(half.inner) or not half.is_free_inside(states):
            return half.taken(states)
        if not can_norm(states, norm.weight):
            return half.taken(states)
        read = gated_product(half.joint, norm_tokens(states, self._at, norm.weight, eps_of(norm) or 0.0))
        last = half.maps[-1].module
        if not last._forward_hooks:
            return add_tokens(states, self._at, half.last.product(read))
        rows = read.new_zeros(self._shape[0] * self._shape[1], read.shape[-1])  # what hangs there looks for whole rows
        rows[self._at] = read
        return states + last(rows.view(*self._shape, -1))  # type: ignore[no-any-return]
