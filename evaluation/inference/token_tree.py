"""Rows that hold several sequences with a common beginning, each token once: a tree of tokens in one row.

A token attends to its ancestors and itself, and its position is its depth, so one pass reads all sequences as if each
stood alone. The prompts of a case and the targets of a prompt share what they share. Models that cannot take such rows
(no positions given, a short attention window) get one row a sequence.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from evaluation.edits.routed_deltas import tell_prompts
from evaluation.models.devices import device_fault, send
from evaluation.models.tokenization import common_prefix

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

Tokens = tuple[int, ...]


class TokenTree(NamedTuple):
    """Sequences in one row.

    Attributes:
        sequences: What it holds, sorted.
        ids: Token of every node, [nodes].
        depths: Its position in its sequences.
        ends: For every node the number after that of its last descendant: node i stands at or below node j if
            j <= i < ends[j].
        paths: For every sequence the nodes of its tokens.
    """

    sequences: tuple[Tokens, ...]
    ids: list[int]
    depths: list[int]
    ends: list[int]
    paths: list[list[int]]

    @property
    def chain(self) -> bool:
        """Whether it is a plain row of one sequence."""
        return len(self.paths[-1]) == len(self.ids)


def tree(sequences: Sequence[Tokens]) -> TokenTree:
    """The tree of some sequences.

    Example:
        >>> tree([(1, 2, 3), (1, 2, 4)]).ids
        [1, 2, 3, 4]
    """
    ordered = sorted(set(sequences))
    if len(ordered) == 1:  # most rows: a chain, made without looking at each node
        (only,) = ordered
        nodes = range(len(only))
        return TokenTree((only,), list(only), list(nodes), [len(only)] * len(only), [list(nodes)])
    ids: list[int] = []
    depths: list[int] = []
    ends: list[int] = []
    paths: list[list[int]] = []
    for n, sequence in enumerate(ordered):
        shared = common_prefix([ordered[n - 1], sequence]) if n else 0
        before = paths[-1][:shared] if paths else []
        for node in paths[-1][shared:] if paths else ():  # no later sequence goes through it
            ends[node] = len(ids)
        ends += [0] * (len(sequence) - shared)
        path = [*before, *range(len(ids), len(ids) + len(sequence) - shared)]
        ids += sequence[shared:]
        depths += range(shared, len(sequence))
        paths.append(path)
    for node in paths[-1] if paths else ():
        ends[node] = len(ids)
    return TokenTree(tuple(ordered), ids, depths, ends, paths)


def build_trees(sequences: Sequence[Tokens], *, worth: float, max_tokens: int | None = None) -> list[TokenTree]:
    """Sequences in trees: a sequence joins the tree of its neighbour in order where the tokens saved pay.

    A tree of ``n`` nodes, ``p`` of them what its neighbour begins with, too, costs ``worth n + n**2`` for ``n - p``
    tokens of its own, least for each of them at ``n = p + sqrt(p**2 + p worth)``: there the next tree is begun.

    Args:
        sequences: Token ids, in any order; equal ones become one.
        worth: How many attended tokens one token through a block is worth; 0 makes every sequence a row of its own.
        max_tokens: The most tokens of a tree of several sequences: a model's attention window.
    """
    rows: list[list[Tokens]] = []
    nodes = 0
    for sequence in sorted(set(sequences)):
        if rows and worth:
            shared, new = common_prefix([rows[-1][-1], sequence]), len(sequence)
            joint = nodes + new - shared
            full = 2 * joint - new + shared > 2 * (
                shared + math.sqrt(shared**2 + shared * worth)
            )  # its middle is beyond
            pays = shared * worth > joint**2 - nodes**2 - new**2 and not full
            if pays and (max_tokens is None or joint <= max_tokens):
                rows[-1].append(sequence)
                nodes = joint
                continue
        rows.append([sequence])
        nodes = len(sequence)
    return [tree(row) for row in rows]


def token_cost(lm: LM) -> float:
    """Attended tokens that cost as much as one token's way through the maps of a block."""
    weights = sum(p.numel() for p in lm.block(0).parameters() if p.ndim == 2)
    return weights / (2 * lm.layout.width)


class PackedTrees(NamedTuple):
    """Trees as tensors: ids [rows, nodes] and the further arguments of the decoder."""

    ids: Tensor
    arguments: dict[str, Any]


def to_tensors(lm: LM, trees: Sequence[TokenTree], *, own_mask: bool = False) -> PackedTrees:
    """Trees padded to one length.

    Args:
        lm: The model; it says what it takes and where.
        trees: At least one.
        own_mask: Give plain rows, too, a mask by which the model need not look at the padding (on a device it would
            wait for that). Where this is false, plain rows alone get a plain attention mask.
    """
    plain = not own_mask and all(t.chain for t in trees)
    longest = max(len(t.ids) for t in trees)
    fill = lm.tokenizer.pad_token_id or 0
    rest = [longest - len(t.ids) for t in trees]
    ids, depths, ends = send(
        [
            [[*t.ids, *[fill] * more] for t, more in zip(trees, rest, strict=True)],
            [[*t.depths, *[0] * more] for t, more in zip(trees, rest, strict=True)],
            [[*t.ends, *range(len(t.ids) + 1, longest + 1)] for t in trees],  # padding reads itself: else it is NaN
        ],
        lm.device,
    )
    more: dict[str, Any] = {"use_cache": False}
    if plain:
        more["attention_mask"] = send([[1] * len(t.ids) + [0] * n for t, n in zip(trees, rest, strict=True)], lm.device)
    else:
        more["attention_mask"] = additive_mask(ancestors(ends), lm.dtype)
    if lm.layout.positions:
        more["position_ids"] = depths
    return PackedTrees(ids, more)


def ancestors(ends: Tensor) -> Tensor:
    """Who attends to whom, bool [rows, nodes, nodes]: each node to itself and to those that it stands below.

    Args:
        ends: ``TokenTree.ends`` of padded rows, [rows, nodes].
    """
    nodes = torch.arange(ends.shape[1], device=ends.device)
    return (nodes[None, :] <= nodes[:, None]) & (nodes[:, None] < ends[:, None, :])


def additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask as attention adds it, [rows, 1, queries, keys] of the model's type, from bool [rows, queries, keys]."""
    masked = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return masked.masked_fill_(~allowed, torch.finfo(dtype).min)[:, None]


@torch.no_grad()
def can_pack(lm: LM) -> bool:
    """Whether a model reads a tree as it reads the sequences one by one; tried with a few tokens.

    A model that refuses the arguments of a tree is read without; its reason is logged. A fault of the device is no
    answer and is raised.

    Raises:
        RuntimeError: memory ran out, or the device failed.
    """
    if not lm.layout.positions:
        return False
    sequences = [(5, 6, 7, 8), (5, 6, 9, 7)]
    one = tree(sequences)
    base = lm.module(lm.layout.base)
    try:
        with tell_prompts(lm.model, None):  # a routed edit has no part in it
            packed = to_tensors(lm, [one])
            got = base(input_ids=packed.ids, **packed.arguments).last_hidden_state[0]
            alone = to_tensors(lm, [tree([s]) for s in sequences])
            want = base(input_ids=alone.ids, **alone.arguments).last_hidden_state
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        if device_fault(error):
            raise
        log.info("prompts are scored without shared beginnings: %s: %s", type(error).__name__, error)
        return False
    gaps = [(got[path] - want[n]).abs().max() for n, path in enumerate(one.paths)]
    tolerance = 1e-4 if lm.dtype == torch.float32 else 3e-2
    return bool(max(gaps) <= tolerance * want.abs().max())
