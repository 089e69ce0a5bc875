"""MinHash with locality-sensitive hashing (Broder, 1997; Indyk and Motwani, 1998): near-duplicates among millions.

Candidates come band by band: a band's key of every text is computed, sorted, used and dropped, so memory is that of the
texts' words plus a few numbers a text, whatever the number of bands. Every candidate is measured exactly (ROUGE-1 F):
nothing false is reported, and what may be missed is known beforehand (``BandPlan.recall``) and measured by the
benchmark.
Written here rather than taken from a library because the well-known ones keep every band's table in memory.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.similarity.rouge import SimilarPairs, TokenRows, can_reach, check_threshold, require, score_pairs

if TYPE_CHECKING:
    from curation.similarity.rouge import Ints

log = logging.getLogger(__name__)

HASHES = 256  # at most so many hash functions; more rows a band mean fewer false candidates and more hashing
BUFFER = 250_000  # candidate pairs held before they are measured, or looked at together
WINDOW = 32
PART = 50_000  # texts whose words are hashed together


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
    np, _ = require()
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
    np, _ = require()
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
    np, _ = require()
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
    np, _ = require()
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
