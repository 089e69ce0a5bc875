"""Attention of many queries, some of them at a time, with the keys that stand before them and no others.

On a CPU PyTorch's attention multiplies every query by every key, also by those that the mask bars. A decoder bars all
that comes later, so queries are taken in parts, each with the keys up to its last one. PyTorch's attention over the
whole is the slow twin, which this equals but for rounding.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.weak import WeakTensorKeyDictionary

PART = 32
"""Queries of a part: PyTorch's own attention takes so many at once."""


def attend_by_parts(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor | None:
    """Attention without a slope, [rows, queries, heads, size]; None where parts are of no use or not allowed.

    Args:
        query: [rows, heads, queries, size].
        key: [rows, heads or a divisor of them, keys, size]; the last ``queries`` of the keys stand where queries do.
        value: As the key.
        mask: [rows or 1, heads or 1, queries, keys], of truth values or added to the scores; None: each query sees
            itself and what comes before it.
        scale: By which scores are multiplied.
    """
    queries, keys = query.shape[2], key.shape[2]
    if queries <= PART or keys < queries:
        return None
    if mask is None:
        mask = causal(queries, keys)
    elif mask.shape[-2:] != (queries, keys):
        return None
    else:
        mask = _added(mask)
        if mask is None:
            return None
    shared = key.shape[1] != query.shape[1]
    out = query.new_empty(query.shape[0], queries, query.shape[1], value.shape[-1])
    for first in range(0, queries, PART):
        part = slice(first, min(first + PART, queries))
        seen = slice(0, keys - queries + part.stop)
        out[:, part] = scaled_dot_product_attention(
            query[:, :, part], key[:, :, seen], value[:, :, seen], mask[..., part, seen], scale=scale, enable_gqa=shared
        ).transpose(1, 2)
    return out


@lru_cache(maxsize=64)
def causal(queries: int, keys: int) -> Tensor:
    """The mask by which each of the last positions sees itself and those before it, [1, 1, queries, keys], added."""
    barred = _later(queries, keys)
    return torch.zeros(1, 1, queries, keys).masked_fill_(barred, torch.finfo(torch.float32).min)


@lru_cache(maxsize=64)
def _later(queries: int, keys: int) -> Tensor:
    """For each query the keys that stand after it, bool [queries, keys]."""
    return torch.ones(queries, keys, dtype=torch.bool).triu_(1 + keys - queries)


class _MaskFacts(NamedTuple):
    """What is known of a mask.

    Attributes:
        version: The mask's, when it was looked at.
        ahead: Whether a query may look ahead.
        added: What is added to the scores where the mask holds truth values; None: the mask itself.
    """

    version: int
    ahead: bool
    added: Tensor | None


_FACTS: MutableMapping[Tensor, _MaskFacts] = WeakTensorKeyDictionary()
"""Gone with the mask, to which no entry leads back."""


def _added(mask: Tensor) -> Tensor | None:
    """A mask as it is added to the scores, or None where a query may look ahead; found out once for all blocks."""
    if mask.is_inference():  # nothing counts its versions
        facts = _look_at(mask, 0)
    else:
        known, version = _FACTS.get(mask), mask._version
        if known is None or known.version != version:
            known = _FACTS[mask] = _look_at(mask, version)
        facts = known
    if facts.ahead:
        return None
    return mask if facts.added is None else facts.added


def _look_at(mask: Tensor, version: int) -> _MaskFacts:
    if _looks_ahead(mask):
        return _MaskFacts(version, True, None)
    added = torch.zeros(mask.shape).masked_fill_(~mask, -torch.inf) if mask.dtype == torch.bool else None
    return _MaskFacts(version, False, added)


def _looks_ahead(mask: Tensor) -> bool:
    """Whether a query may see a key that stands after it."""
    allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    return bool((allowed & _later(*mask.shape[-2:])).any())
