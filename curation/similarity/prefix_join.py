"""Every pair of texts above a similarity, found without comparing all: the exact join behind near-duplicates.

Two texts that share at least ``a`` words share at least ``k`` words among the ``n - a + k`` rarest of each (the prefix
filter of set-similarity joins; its extension to ``k``). How many words a pair must share follows from its two lengths:
texts are taken length by length, and only those meet that have a combination of ``k`` prefix words in common. ``k`` is
chosen for each two lengths by what it saves; whatever it is, no pair at or above the threshold is missed, and every
pair that meets is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.similarity.rouge import EPSILON, SimilarPairs, TokenRows, check_threshold, require, score_pairs

if TYPE_CHECKING:
    from curation.similarity.vocabulary import Ints

WORK = 2_000_000
"""Meetings of two texts in a word that are looked at together: bounds the memory."""
GROUP = 40_000
"""Texts of one length that are taken together."""
_DEEPEST = 3  # words of a combination
_KEYS = 3_000_000  # combinations of the two sides at the most
_WORTH = 4  # meetings that one more combination must save


class _Group(NamedTuple):
    """Texts of one length (row numbers, ascending); ``second`` where they belong to the second collection."""

    length: int
    rows: Ints
    second: bool


def similar_pairs(
    rows: TokenRows, *, threshold: float, between: int | None = None, work: int = WORK
) -> Iterator[SimilarPairs]:
    """Every pair of rows with ROUGE-1 F at or above the threshold, each once, in blocks of bounded size.

    Args:
        rows: From ``curation.similarity.rouge.encode``.
        threshold: Above 0, at most 1.
        between: Compare only rows before this number with rows from it on (two collections, encoded together).
        work: Meetings per block; bounds the memory.

    Example:
        >>> from curation.similarity.rouge import encode
        >>> blocks = similar_pairs(encode(["a b c d", "x y", "a b c e"]), threshold=0.7)
        >>> [(block.first.tolist(), block.second.tolist(), block.value.tolist()) for block in blocks]
        [([0], [2], [0.75])]
    """
    check_threshold(threshold)
    groups = _groups(rows, between)
    for n, left in enumerate(groups):
        for right in groups[n:]:
            if between is not None and left.second == right.second:
                continue
            needed = _words_to_share(left.length, right.length, threshold)
            if needed > left.length:  # and so are all longer ones
                break
            for first, second in _meetings(rows, left, right, needed, work):
                pairs = score_pairs(rows, first, second, threshold=threshold)
                if len(pairs.first):
                    yield pairs


def _groups(rows: TokenRows, between: int | None) -> list[_Group]:
    """The texts that have words, the shortest first."""
    np, _ = require()
    groups = []
    for length in np.unique(rows.size[rows.size > 0]).tolist():
        members = np.flatnonzero(rows.size == length)
        cut = len(members) if between is None else int(np.searchsorted(members, between))
        for side, part in ((False, members[:cut]), (True, members[cut:])):
            groups += [_Group(length, part[at : at + GROUP], side) for at in range(0, len(part), GROUP)]
    return groups


def _words_to_share(left: int, right: int, threshold: float) -> int:
    """How many words two texts of these lengths must share."""
    return max(1, math.ceil((threshold - EPSILON) * (left + right) / 2 - EPSILON))


def _meetings(rows: TokenRows, left: _Group, right: _Group, needed: int, work: int) -> Iterator[tuple[Ints, Ints]]:
    """Row pairs (first < second) of two groups that meet, each once; all that share ``needed`` words are among them."""
    np, _ = require()
    here, there, posted = _combinations(rows, left, right, needed)
    cost = here @ posted
    postings = there.T.tocsr()
    for start, stop in row_blocks(np.cumsum(cost), work):
        met = (here[start:stop] @ postings).tocoo()
        a, b = left.rows[met.row + start], right.rows[met.col]
        if left is right:
            later = b > a
            yield a[later], b[later]
        else:
            yield np.minimum(a, b), np.maximum(a, b)


def _combinations(rows: TokenRows, left: _Group, right: _Group, needed: int) -> tuple[Any, Any, Ints]:
    """Both groups as sparse matrices over the combinations that stand on both sides, and how often on the right."""
    np, _ = require()
    for depth in range(1, _DEEPEST + 1):
        keys_by_side = [_keys(rows, group, group.length - needed + depth, depth) for group in (left, right)]
        known, place = np.unique(np.concatenate([keys.ravel() for keys in keys_by_side]), return_inverse=True)
        places = (
            place[: keys_by_side[0].size].reshape(keys_by_side[0].shape),
            place[keys_by_side[0].size :].reshape(keys_by_side[1].shape),
        )
        often = [np.bincount(p.ravel(), minlength=len(known)) for p in places]
        meetings = int(often[0] @ often[1])
        deeper = sum(len(g.rows) * math.comb(g.length - needed + depth + 1, depth + 1) for g in (left, right))
        if depth in (needed, _DEEPEST) or deeper > _KEYS or meetings <= _WORTH * deeper:
            break
    use = (often[0] > 0) & (often[1] > 0)
    number = np.cumsum(use) - 1
    posted = often[1][use] if use.any() else np.zeros(1, dtype=np.int64)
    return _matrix(places[0], use, number), _matrix(places[1], use, number), posted


def _keys(rows: TokenRows, group: _Group, prefix: int, depth: int) -> Any:
    """A number for every combination of ``depth`` of a text's rarest words; shape (texts, combinations)."""
    np, _ = require()
    starts = rows.matrix.indptr[group.rows].astype(np.int64)
    words = rows.matrix.indices[starts[:, None] + np.arange(prefix)].astype(np.uint64)
    keys = np.empty((len(words), math.comb(prefix, depth)), dtype=np.uint64)
    for n, places in enumerate(combinations(range(prefix), depth)):
        key = words[:, places[0]]
        for place in places[1:]:  # two combinations of one number only cost a comparison
            key = key * np.uint64(0x9E3779B97F4A7C15) + words[:, place]
        keys[:, n] = key
    return keys


def _matrix(places: Any, use: Any, number: Ints) -> Any:
    """Texts x combinations, of the combinations that are used."""
    np, sparse = require()
    inside = use[places]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(inside.sum(axis=1))])
    indices = number[places[inside]]
    width = int(number[-1]) + 1 if len(number) else 0
    return sparse.csr_matrix(
        (np.ones(len(indices), dtype=np.int32), indices, indptr), shape=(len(places), max(width, 1))
    )


def row_blocks(cumulated: Ints, work: int) -> Iterator[tuple[int, int]]:
    """Row ranges of about ``work`` meetings each, at least one row."""
    np, _ = require()
    start = 0
    while start < len(cumulated):
        done = cumulated[start - 1] if start else 0
        stop = max(int(np.searchsorted(cumulated, done + work, side="right")), start + 1)
        yield start, stop
        start = stop
