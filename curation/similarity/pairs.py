"""Pairs of similar texts: by their words (a sparse product), and by their meaning (embeddings).

The k-th occurrence of a word counts as an element of its own, so a text becomes a set and ROUGE-1 F becomes Dice's
coefficient.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from curation.similarity.texts import words
from schemas.core.errors import UserError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

EPSILON = 1e-9  # thresholds such as 0.4 are not exact in binary; a pair at the threshold belongs to it
CELLS = 4_000_000  # pairs whose shared words are counted at a time


class TokenRows(NamedTuple):
    """Texts as rows of a sparse 0/1 matrix with a column for each occurrence of a word.

    Attributes:
        matrix: scipy CSR matrix (texts x columns), int8.
        size: Words a text, shape (texts,).
    """

    matrix: Any
    size: Ints


class SimilarPairs(NamedTuple):
    """Pairs of row numbers with ``first < second`` and their similarity; three arrays of one length."""

    first: Ints
    second: Ints
    value: Floats


def encode(texts: Iterable[str], *, groups: Iterable[str] | None = None) -> TokenRows:
    """Texts as rows; texts of different groups share no column, so they are never alike."""
    known, columns, starts = dict[tuple[str, str, int], int](), array("q"), array("q", [0])
    for text, group in zip(texts, repeat("") if groups is None else groups, strict=False):
        seen: Counter[str] = Counter()
        for word in words(text):
            seen[word] += 1
            columns.append(known.setdefault((group, word, seen[word]), len(known)))
        starts.append(len(columns))
    entries = np.ones(len(columns), dtype=np.int8), np.asarray(columns), np.asarray(starts)
    matrix = sparse.csr_matrix(entries, shape=(len(starts) - 1, max(len(known), 1)))
    return TokenRows(matrix, np.diff(starts))


def similar_pairs(
    rows: TokenRows, *, threshold: float, between: int | None = None, cells: int = CELLS
) -> Iterator[SimilarPairs]:
    """Every pair of rows with ROUGE-1 F at or above the threshold, each once, in blocks of bounded size.

    A sparse product counts the shared words of all pairs whose lengths allow the threshold.

    Args:
        rows: From ``encode``.
        threshold: Above 0, at most 1.
        between: Compare only rows before this number with rows from it on (two collections, encoded together).
        cells: Pairs per block; bounds the memory.

    Example:
        >>> blocks = similar_pairs(encode(["a b c d", "x y", "a b c e"]), threshold=0.7)
        >>> [(block.first.tolist(), block.second.tolist(), block.value.tolist()) for block in blocks]
        [([0], [2], [0.75])]
    """
    check_threshold(threshold)
    order = np.argsort(rows.size, kind="stable")
    order = order[rows.size[order] > 0]
    left, right = (order, order) if between is None else (order[order < between], order[order >= between])
    here, there = (rows.matrix[side].astype(np.int32) for side in (left, right))
    sizes, others = rows.size[left], rows.size[right]
    longer = (2 - threshold) / threshold + EPSILON  # times as long a similar text can be
    start = 0
    while start < len(left):
        low = start if between is None else int(np.searchsorted(others, sizes[start] / longer))
        near = int(np.searchsorted(others, sizes[start] * longer, side="right")) - low
        stop = min(len(left), start + max(1, cells // max(1, near)))
        high = int(np.searchsorted(others, sizes[stop - 1] * longer, side="right"))
        product = (here[start:stop] @ there[low:high].T).tocsr()
        place = np.flatnonzero(product.data >= (threshold - EPSILON) * min(sizes[start], others[low : low + 1].sum()))
        i = np.searchsorted(product.indptr, place, side="right") - 1 + start
        j = product.indices[place].astype(np.int64) + low
        value = 2 * product.data[place] / (sizes[i] + others[j])
        alike = value >= threshold - EPSILON
        alike &= (j > i) if between is None else True
        one, two = left[i[alike]], right[j[alike]]
        if len(one):
            yield SimilarPairs(np.minimum(one, two), np.maximum(one, two), value[alike])
        start = stop


def check_threshold(threshold: float) -> None:
    """Refuse what is no threshold."""
    if not 0 < threshold <= 1 or math.isnan(threshold):
        raise UserError(f"the similarity threshold {threshold} is out of range", allowed="above 0, at most 1")


def cosine_pairs(
    vectors: NDArray[np.float32], *, threshold: float, groups: Sequence[str] | None = None, block: int = 1024
) -> Iterator[SimilarPairs]:
    """Pairs of rows (first < second) whose cosine is at or above the threshold; time grows with the square.

    Args:
        vectors: Unit vectors, shape (texts, dimensions).
        threshold: Above 0, at most 1.
        groups: Where given, only texts of one group are compared.
        block: Rows a block; a block holds ``block x texts`` float32 numbers.
    """
    check_threshold(threshold)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1] if groups is not None else None
    for start in range(0, len(vectors), block):
        value = vectors[start : start + block] @ vectors[start:].T
        first, second = np.nonzero(value >= threshold - 1e-6)  # float32 products of unit vectors err by some 1e-7
        later = second > first
        if codes is not None:
            later &= codes[start + first] == codes[start + second]
        first, second = first[later], second[later]
        if len(first):
            cosines = np.minimum(value[first, second].astype(np.float64), 1.0 + EPSILON)
            yield SimilarPairs(first + start, second + start, np.clip(cosines, 0.0, 1.0))
