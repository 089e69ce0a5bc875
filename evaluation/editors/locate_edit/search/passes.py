"""How a search's rows are run: beginnings shared over requests, lengths that go together.

All requests stand in the same context templates, so a template's tokens are read once for all of them. Rows of like
length go together, since every pass of a search pays for padding again. Above the last attention a token's state is
its own affair, so what is not read there is not computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

import torch
from torch.nn.functional import pad

from evaluation.inference.prefix_cache import Prefix, read_prefix
from evaluation.models.language_model import LM

PASS = 24
"""What a pass costs on a CPU besides its tokens, in tokens: weights come from memory however few rows read them."""

PASS_ON_CARD = 2048
"""The same on a GPU: the host starts its operations one by one (GPT2-XL's shape on an H200: 59 ms, 33 µs a token)."""

LENGTH = 4
"""What rows of one length cost besides their tokens, in tokens, where all lengths run in one pass."""


def price(lm: LM) -> int:
    """What a pass costs besides its tokens, in tokens."""
    return PASS if lm.device.type == "cpu" else PASS_ON_CARD


def alike(lengths: Sequence[int], max_tokens: int, *, each: int) -> list[list[int]]:
    """Rows, as indices, that go together: the cut by length at which tokens, padding and passes cost least.

    Args:
        lengths: Tokens of every row.
        max_tokens: Tokens, padding included, in one pass.
        each: What a pass costs besides, in tokens.

    Example:
        >>> alike([4, 6, 4, 5], 100, each=2), alike([4, 6, 4, 5], 100, each=9)
        ([[0, 2], [3, 1]], [[0, 2, 3, 1]])
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    ends = [n for n in range(1, len(order)) if lengths[order[n]] != lengths[order[n - 1]]] + [len(order)]
    best: dict[int, tuple[int, list[list[int]]]] = {0: (0, [])}
    for end in ends:
        longest, options = lengths[order[end - 1]], []
        for start, (cost, groups) in best.items():
            tokens = (end - start) * longest
            options.append((cost + tokens + each * -(-tokens // max_tokens), [*groups, order[start:end]]))
        best[end] = min(options, key=lambda option: option[0])
    return best[len(order)][1]


class Stems:
    """What rows of one kind begin with, whatever the request, read once; their beginnings continue from there.

    Args:
        lm: The model.
        kinds: Kind of every row: the template that it stands in.
        beginnings: Token ids of every row's unchanging part.
        max_tokens: Tokens, padding included, in one pass.
    """

    def __init__(
        self, lm: LM, kinds: Sequence[Hashable], beginnings: Sequence[tuple[int, ...]], *, max_tokens: int
    ) -> None:
        self._lm, self._max_tokens = lm, max_tokens
        self._read: Prefix | None = None
        by_kind = defaultdict(list)
        for kind, ids in zip(kinds, beginnings, strict=True):
            by_kind[kind].append(ids)
        self._stems: dict[Hashable, tuple[int, ...]] = {kind: _common_beginning(rows) for kind, rows in by_kind.items()}
        if len(beginnings) == len(by_kind) or not any(self._stems.values()) or lm.layout.window:
            self._stems = dict.fromkeys(by_kind, ())
        else:
            self._read = read_prefix(lm, list(self._stems.values()))

    def continued(self, kinds: Sequence[Hashable], beginnings: Sequence[tuple[int, ...]]) -> Prefix:
        """What ``read_prefix`` of the beginnings gives, without reading the stems again."""
        lm = self._lm
        if lm.layout.window:  # such a cache counts its tokens itself, so it is neither cut nor put together
            return read_prefix(lm, beginnings)
        numbers = {kind: n for n, kind in enumerate(self._stems)}
        index = torch.tensor([numbers[kind] for kind in kinds], device=lm.device)
        rests = [ids[len(self._stems[kind]) :] for kind, ids in zip(kinds, beginnings, strict=True)]
        groups = alike([len(rest) for rest in rests], self._max_tokens, each=price(lm))
        parts = []
        for group in groups:
            stems = None if self._read is None else self._read.select(index[group])
            parts.append(_extend(lm, stems, [rests[i] for i in group]))
        return _stack_prefixes(parts, [i for group in groups for i in group])


@torch.no_grad()
def _extend(lm: LM, stems: Prefix | None, rests: Sequence[tuple[int, ...]]) -> Prefix:
    """Every row's stem and rest as one prefix, padded on the right only."""
    if stems is None:
        prefix = read_prefix(lm, [rest or (0,) for rest in rests])  # a masked token stands for an empty rest
        lengths = torch.tensor([len(rest) for rest in rests], device=lm.device)
        return Prefix(prefix.past, prefix.mask * (lengths > 0)[:, None], lengths)
    past, whole = stems.past, stems.mask
    if any(rests):
        ids, mask = lm.pad(rests)
        seen = mask.clone()
        seen[:, 0] = 1  # as in ``read_prefix``: a row with neither stem nor rest reads one pad token
        past = lm.module(lm.layout.base)(input_ids=ids, **stems.arguments(seen, limit=lm.limit)).past_key_values
        whole = torch.cat([whole, mask], dim=1)
    order = whole.argsort(dim=1, descending=True, stable=True)[:, : max(1, int(whole.sum(1).max()))]
    for layer in past.layers:  # copies of the stems' layers, made by ``select`` or ``arguments``
        places = order.to(layer.keys.device)[:, None, :, None].expand(-1, layer.keys.shape[1], -1, layer.keys.shape[3])
        layer.keys, layer.values = layer.keys.gather(2, places), layer.values.gather(2, places)
    return Prefix(past, whole.gather(1, order), whole.sum(1))


def _common_beginning(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """What all rows begin with."""
    first, last = min(rows), max(rows)  # in order of their tokens, so the others begin as these two do
    return first[: next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _stack_prefixes(parts: Sequence[Prefix], order: Sequence[int]) -> Prefix:
    """Prefixes below each other, row ``n`` of all of them put at place ``order[n]``; caches of plain layers only."""
    if len(parts) > 1:
        longest = max(part.mask.shape[1] for part in parts)
        for n, layer in enumerate(parts[0].past.layers):
            every = [part.past.layers[n] for part in parts]
            layer.keys, layer.values = (
                torch.cat([pad(state, (0, 0, 0, longest - state.shape[2])) for state in states])
                for states in ([prefix.keys for prefix in every], [prefix.values for prefix in every])
            )
        mask = torch.cat([pad(part.mask, (0, longest - part.mask.shape[1])) for part in parts])
        parts = [Prefix(parts[0].past, mask, mask.sum(1))]
    return parts[0].select(torch.tensor(order, device=parts[0].mask.device).argsort())
