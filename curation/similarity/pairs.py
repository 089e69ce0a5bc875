"""Pairs of similar texts: every pair by a sparse product, nearly every pair of very many by MinHash, pairs by meaning.

The k-th occurrence of a word counts as an element of its own, so a text becomes a set and ROUGE-1 F becomes Dice's
coefficient F, tied to Jaccard's J by J = F / (2 - F).

MinHash with locality-sensitive hashing (Broder, 1997; Indyk and Motwani, 1998): candidates come band by band. A band's
key of every text is computed, sorted, used and dropped, so memory is that of the texts' words plus a few numbers a
text. Every candidate is measured exactly: nothing false is reported, and what may be missed is known beforehand
(``BandPlan.recall``). The well-known libraries keep every band's table in memory.
"""

from __future__ import annotations

import logging
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped, unused-ignore]

from curation.similarity.rouge import words
from schemas.core.errors import UserError

log = logging.getLogger(__name__)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EPSILON = 1e-9  # thresholds such as 0.4 are not exact in binary; a pair at the threshold belongs to it
CELLS = 4_000_000  # pairs whose shared words are counted at a time
PART = 50_000  # texts whose words are looked at together
HASHES = 256  # at most so many hash functions; more rows a band mean fewer false candidates and more hashing
BUFFER = 250_000  # candidate pairs held before they are measured, or looked at together
WINDOW = 32


class TokenRows(NamedTuple):
    """Texts as rows of a sparse 0/1 matrix, columns from the rarest word occurrence to the most frequent one.

    Attributes:
        matrix: scipy CSR matrix (texts x columns), int8, each row's columns sorted.
        size: Words a text, shape (texts,).
        parity: 128 bits a text, shape (texts, 2), uint64: every word flips one. Two texts differ in at least as many
            words as bits, which rules most candidates out at once and never a true one.
    """

    matrix: Any
    size: Ints
    parity: Any


class SimilarPairs(NamedTuple):
    """Pairs of row numbers with ``first < second`` and their similarity; three arrays of one length."""

    first: Ints
    second: Ints
    value: Floats


def encode(texts: Iterable[str], *, groups: Iterable[str] | None = None) -> TokenRows:
    """Texts as rows; texts of different groups share no column, so they are never alike.

    The columns depend on the texts only and not on their order: rare words first, equally frequent ones by name.
    """
    known, columns, size = dict[str, int](), array("i"), array("q")
    inside = iter(groups) if groups is not None else None
    for text in texts:
        prefix = f"{next(inside)}\x02" if inside is not None else ""
        seen: dict[str, int] = {}
        text_words = words(text)
        for word in text_words:
            n = seen[word] = seen.get(word, 0) + 1
            columns.append(known.setdefault(prefix + word if n == 1 else f"{prefix}{word}\x01{n}", len(known)))
        size.append(len(text_words))
    counts, numbers = np.asarray(size, dtype=np.int64), np.asarray(columns, dtype=np.int32)
    frequency = np.bincount(numbers, minlength=len(known)).tolist()
    rank = np.empty(len(known), dtype=np.int32)
    by_rarity = sorted(known.items(), key=lambda item: (frequency[item[1]], item[0]))
    rank[[number for _, number in by_rarity]] = np.arange(len(known), dtype=np.int32)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    entries = np.ones(len(numbers), dtype=np.int8), rank[numbers], starts
    matrix = sparse.csr_matrix(entries, shape=(len(counts), max(len(known), 1)))
    matrix.sort_indices()
    return TokenRows(matrix, counts, _parity(matrix, counts))


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


def can_reach(rows: TokenRows, first: Ints, second: Ints, *, threshold: float) -> Bools:
    """Which pairs their lengths and parities do not rule out; never rules out a pair at or above the threshold."""
    a, b = rows.size[first], rows.size[second]
    total = a + b
    possible = 2 * np.minimum(a, b) >= threshold * total - EPSILON
    bits = np.bitwise_count(rows.parity[first, 0] ^ rows.parity[second, 0]).astype(np.int64)
    bits += np.bitwise_count(rows.parity[first, 1] ^ rows.parity[second, 1])
    possible &= bits <= (1 - threshold) * total + EPSILON  # words not shared: total - 2·overlap
    return possible  # type: ignore[no-any-return]


def score_pairs(rows: TokenRows, first: Ints, second: Ints, *, threshold: float) -> SimilarPairs:
    """Of the given pairs those at or above the threshold, with their ROUGE-1 F."""
    possible = can_reach(rows, first, second, threshold=threshold)
    first, second = first[possible], second[possible]
    shared = np.empty(len(first), dtype=np.int64)
    step = 50_000
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        left, right = rows.matrix[first[part]], rows.matrix[second[part]]
        shared[part] = np.asarray(left.multiply(right).sum(axis=1)).ravel()
    value = 2 * shared / np.maximum(rows.size[first] + rows.size[second], 1)
    alike = (value >= threshold - EPSILON) & (shared > 0)
    return SimilarPairs(first[alike], second[alike], value[alike])


def check_threshold(threshold: float) -> None:
    """Refuse what is no threshold."""
    if not 0 < threshold <= 1 or math.isnan(threshold):
        raise UserError(f"the similarity threshold {threshold} is out of range", allowed="above 0, at most 1")


def _parity(matrix: Any, size: Ints) -> Any:
    out = np.zeros((len(size), 2), dtype=np.uint64)
    for start in range(0, len(size), PART):
        full = start + np.flatnonzero(size[start : start + PART])
        if not len(full):
            continue
        begin, end = matrix.indptr[full[0]], matrix.indptr[min(start + PART, len(size))]
        place = (matrix.indices[begin:end].astype(np.uint32) * np.uint32(2654435769)) >> np.uint32(25)
        bit = np.uint64(1) << (place & np.uint32(63)).astype(np.uint64)
        for half in (0, 1):
            bits = np.where(place >> np.uint32(6) == half, bit, np.uint64(0))
            out[full, half] = np.bitwise_xor.reduceat(bits, matrix.indptr[full] - begin)
    return out


class BandPlan(NamedTuple):
    """Bands of rows: texts with Jaccard similarity J meet with probability ``1 - (1 - J^rows)^bands``."""

    rows: int
    bands: int

    def recall(self, rouge1_f: float) -> float:
        """Chance that a pair of this ROUGE-1 F becomes a candidate.

        Example:
            >>> round(BandPlan(rows=5, bands=33).recall(0.8), 3)
            0.991
        """
        jaccard = rouge1_f / (2 - rouge1_f)
        return 1.0 - (1.0 - jaccard**self.rows) ** self.bands


def plan(threshold: float, *, recall: float = 0.99, hashes: int = HASHES) -> BandPlan:
    """The most selective plan that finds pairs at the threshold with the wanted probability.

    Example:
        >>> plan(0.8)
        BandPlan(rows=5, bands=33)
    """
    check_threshold(threshold)
    best = None
    for rows in range(1, hashes + 1):
        meet = (threshold / (2 - threshold)) ** rows
        bands = 1 if meet >= 1 else math.ceil(math.log(1 - recall) / math.log(1 - meet))
        if rows * bands > hashes or rows > 16:
            break
        best = BandPlan(rows, bands)
    return best or BandPlan(1, hashes)


def candidate_pairs(
    rows: TokenRows, *, band_plan: BandPlan, seed: int = 0, window: int = WINDOW
) -> Iterator[tuple[Ints, Ints]]:
    """Row pairs (first < second) that meet in a band; a pair comes once for every band in which it meets.

    In a bucket each text is paired with the bucket's first text and with the ``window`` texts before it: a bucket of a
    million equal texts costs ``window`` million comparisons, not half a billion. Clusters stay whole, because
    neighbours in the bucket still meet; single pairs of large buckets can be missed.
    """
    full = np.flatnonzero(rows.size > 0)
    columns, starts, width = rows.matrix.indices, rows.matrix.indptr[:-1][full], rows.matrix.shape[1]
    for band in range(band_plan.bands):
        key = np.zeros(len(full), dtype=np.uint64)
        for row in range(band_plan.rows):  # a table of random numbers is a truly random hash of the vocabulary
            table = np.random.default_rng([seed, band, row]).integers(0, 2**32, size=width, dtype=np.uint32)
            low = _row_minima(table, columns, starts)
            key = (key ^ low) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
        order = np.argsort(key, kind="stable")
        yield from _bucket_pairs(full[order], key[order], window)


def _row_minima(table: Any, columns: Ints, starts: Ints) -> Any:
    """The smallest number of each text's words; ``starts`` are the places of the texts, none of them empty."""
    low = np.empty(len(starts), dtype=np.uint32)
    for first in range(0, len(starts), PART):
        part = starts[first : first + PART]
        end = starts[first + PART] if first + PART < len(starts) else len(columns)
        low[first : first + PART] = np.minimum.reduceat(table[columns[part[0] : end]], part - part[0])
    return low


def minhash_pairs(
    rows: TokenRows, *, threshold: float, band_plan: BandPlan | None = None, seed: int = 0, window: int = WINDOW
) -> Iterator[SimilarPairs]:
    """Pairs at or above the threshold, found with the plan's recall; none is false. A pair can come in two blocks."""
    held: list[Any] = []
    number = 0

    def measure() -> SimilarPairs:
        both = np.concatenate(held)
        both.sort()
        both = both[np.concatenate([np.ones(1, dtype=bool), both[1:] != both[:-1]])]
        return score_pairs(rows, both // len(rows.size), both % len(rows.size), threshold=threshold)

    chosen = band_plan or plan(threshold)
    for all_first, all_second in candidate_pairs(rows, band_plan=chosen, seed=seed, window=window):
        for start in range(0, len(all_first), BUFFER):
            first, second = all_first[start : start + BUFFER], all_second[start : start + BUFFER]
            hope = can_reach(rows, first, second, threshold=threshold)
            held.append(first[hope] * len(rows.size) + second[hope])
            number += len(held[-1])
            if number >= BUFFER:
                yield measure()
                held, number = [], 0
    if number:
        yield measure()


def _bucket_pairs(members: Ints, key: Any, window: int) -> Iterator[tuple[Ints, Ints]]:
    """Pairs inside runs of equal keys; ``members`` ascend inside a run because the sort was stable."""
    if len(members) < 2:
        return
    new = np.concatenate([np.ones(1, dtype=bool), key[1:] != key[:-1]])
    start = np.maximum.accumulate(np.where(new, np.arange(len(members)), 0))
    depth = np.arange(len(members)) - start
    deepest = int(depth.max())
    for step in range(1, min(window, deepest) + 1):
        at = np.flatnonzero(depth >= step)
        yield members[at - step], members[at]
    far = np.flatnonzero(depth > window)
    if len(far):
        log.debug("%d texts lie deeper in a bucket than the window of %d", len(far), window)
        yield members[start[far]], members[far]


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


def components(size: int, first: Sequence[int] | Ints, second: Sequence[int] | Ints) -> Ints:
    """For each of so many items the smallest number that it is connected with by the pairs, directly or through others.

    Example:
        >>> components(4, [1, 2], [3, 1]).tolist()
        [0, 1, 1, 1]
    """
    graph = sparse.coo_matrix((np.ones(len(first), dtype=np.int8), (first, second)), shape=(size, size))
    label = connected_components(graph, directed=False)[1]
    head: Ints = np.full(size, size, dtype=np.int64)
    np.minimum.at(head, label, np.arange(size))
    return np.asarray(head[label])
