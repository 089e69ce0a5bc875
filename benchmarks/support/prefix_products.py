"""The join of 0.2.0's first half, kept as what the present one is measured against: one product of all prefixes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from curation.similarity.prefix_join import row_blocks
from curation.similarity.rouge import EPSILON, SimilarPairs, TokenRows, check_threshold, require, score_pairs

WORK, _PART = 4_000_000, 20_000
Ints = Any


def similar_pairs(
    rows: TokenRows, *, threshold: float, between: int | None = None, work: int = WORK
) -> Iterator[SimilarPairs]:
    """Every pair of rows with ROUGE-1 F at or above the threshold, each once, in blocks of bounded size.

    Exact: two texts that are alike enough share a word among the rarest ``n - ceil(t·n / (2 - t)) + 1`` of each (the
    prefix filter of set-similarity joins), so only rows that meet in such a word are compared.

    Args:
        rows: From ``encode``.
        threshold: Above 0, at most 1.
        between: Compare only rows before this number with rows from it on (two collections, encoded together).
        work: Products per block; bounds the memory.
    """
    np, _ = require()
    check_threshold(threshold)
    count = rows.matrix.shape[0]
    last = count if between is None else between
    prefix = _prefixes(rows, threshold, 0, last)
    if between is None:
        postings = prefix.T.tocsr()
    else:  # of the other side only the words that this side begins with
        met = np.zeros(rows.matrix.shape[1], dtype=bool)
        met[prefix.indices] = True
        postings = _prefixes(rows, threshold, between, count, only=met).T.tocsr()
    cost = prefix @ np.asarray(np.diff(postings.indptr), dtype=np.int64)
    for start, stop in row_blocks(np.cumsum(cost[:last]), work):
        met = (prefix[start:stop] @ postings).tocoo()
        first, second = met.row.astype(np.int64) + start, met.col.astype(np.int64) + (between or 0)
        later = second > first
        pairs = score_pairs(rows, first[later], second[later], threshold=threshold)
        if len(pairs.first):
            yield pairs


def _prefixes(rows: TokenRows, threshold: float, first: int, last: int, *, only: Any = None) -> Any:
    """The rarest words of some rows, as many as two alike texts cannot both do without; ``only`` some columns."""
    np, sparse = require()
    taken, counts = [], []
    for start in range(first, last, _PART):
        size = rows.size[start : min(start + _PART, last)]
        need = np.maximum(np.ceil(threshold * size / (2 - threshold) - EPSILON).astype(np.int64), 1)
        length = np.where(size > 0, size - need + 1, 0)
        ends = rows.matrix.indptr[start : start + len(size) + 1].astype(np.int64)
        place = np.arange(ends[0], ends[-1]) - np.repeat(ends[:-1], size)
        inside = place < np.repeat(length, size)
        if only is not None:
            inside &= only[rows.matrix.indices[ends[0] : ends[-1]]]
        taken.append(rows.matrix.indices[ends[0] : ends[-1]][inside])
        sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(inside)])
        counts.append(np.diff(sums[ends - ends[0]]))
    indices = np.concatenate([np.empty(0, dtype=np.int32), *taken])
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), *counts]).cumsum()
    ones = np.ones(len(indices), dtype=np.int32)
    return sparse.csr_matrix((ones, indices, indptr), shape=(last - first, rows.matrix.shape[1]), copy=False)
