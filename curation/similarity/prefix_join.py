"""Every pair of texts above a similarity, found without comparing all: the exact join behind near-duplicates.

Two texts that share at least ``a`` words share at least ``k`` words among the ``n - a + k`` rarest of each (the prefix
filter of set-similarity joins; its extension to ``k``). How many words a pair must share follows from its two lengths:
texts are taken length by length, and only those meet that have a combination of ``k`` prefix words in common. ``k`` is
chosen for each two lengths by what it saves; whatever it is, no pair at or above the threshold is missed, and every
pair that meets is measured. Where nearly all meet (low thresholds), shared words are counted for all pairs instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.similarity.rouge import EPSILON, SimilarPairs, TokenRows, check_threshold, require, score_pairs
from curation.similarity.shared_words import CELLS, SharedWords

if TYPE_CHECKING:
    from curation.similarity.rouge import Ints

WORK = 2_000_000
"""Meetings of two texts in a word that are looked at together: bounds the memory."""
GROUP = 40_000
"""Texts of one length that are taken together."""
_DEEPEST = 3  # words of a combination
_KEYS = 3_000_000  # combinations of the two sides at the most
_WORTH = 4  # meetings that one more combination must save
_COUNTED = 8  # counting for this many pairs costs as much as one meeting


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
        work: Meetings, or pairs that are counted, per block; bounds the memory.

    Example:
        >>> from curation.similarity.rouge import encode
        >>> blocks = similar_pairs(encode(["a b c d", "x y", "a b c e"]), threshold=0.7)
        >>> [(block.first.tolist(), block.second.tolist(), block.value.tolist()) for block in blocks]
        [([0], [2], [0.75])]
    """
    check_threshold(threshold)
    groups, counts = _groups(rows, between), SharedWords(rows)
    for n, left in enumerate(groups):
        for right in groups[n:]:
            if between is not None and left.second == right.second:
                continue
            needed = _words_to_share(left.length, right.length, threshold)
            if needed > left.length:  # and so are all longer ones
                break
            for pairs in _alike(counts, rows, left, right, needed, threshold, work):
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


def _alike(
    counts: SharedWords, rows: TokenRows, left: _Group, right: _Group, needed: int, threshold: float, work: int
) -> Iterator[SimilarPairs]:
    """The pairs of two groups at or above the threshold, by the way that is cheaper."""
    np, _ = require()
    here, there, posted = _combinations(rows, left, right, needed)
    cost = here @ posted
    if int(cost.sum()) * _COUNTED > len(left.rows) * len(right.rows):
        yield from _counted(counts, left, right, needed, threshold, work)
        return
    for first, second in _meetings(left, right, here, there, np.cumsum(cost), work):
        yield score_pairs(rows, first, second, threshold=threshold)


def _counted(
    counts: SharedWords, left: _Group, right: _Group, needed: int, threshold: float, work: int
) -> Iterator[SimilarPairs]:
    """The same with the shared words of every pair counted."""
    np, _ = require()
    for a, b, shared in counts.pairs(left.rows, right.rows, needed, cells=min(work, CELLS)):
        value = 2 * shared / (left.length + right.length)
        alike = value >= threshold - EPSILON
        yield SimilarPairs(np.minimum(a, b)[alike], np.maximum(a, b)[alike], value[alike])


def _meetings(
    left: _Group, right: _Group, here: Any, there: Any, costs: Ints, work: int
) -> Iterator[tuple[Ints, Ints]]:
    """Row pairs (first < second) of two groups that meet, each once; all that share enough words are among them."""
    np, _ = require()
    postings = there.T.tocsr()
    for start, stop in row_blocks(costs, work):
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
        places, number_of_keys = _numbered(keys_by_side, rows.matrix.shape[1] if depth == 1 else None)
        often = [np.bincount(p.ravel(), minlength=number_of_keys) for p in places]
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


def _numbered(keys_by_side: list[Any], columns: int | None) -> tuple[list[Any], int]:
    """The keys of both sides as numbers from 0 on, and how many numbers there are.

    Args:
        keys_by_side: Two arrays.
        columns: Where the keys are columns, how many there are: they stay as they are unless most would stand nowhere.
    """
    np, _ = require()
    size = sum(keys.size for keys in keys_by_side)
    if columns is not None and columns <= 2 * size:
        return [keys.astype(np.int64) for keys in keys_by_side], columns
    known, place = np.unique(np.concatenate([keys.ravel() for keys in keys_by_side]), return_inverse=True)
    cut = keys_by_side[0].size
    parts = (place[:cut], place[cut:])
    return [part.reshape(keys.shape) for part, keys in zip(parts, keys_by_side, strict=True)], len(known)


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
