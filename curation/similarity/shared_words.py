"""How many words the texts of two groups share, counted for every pair: for groups in which most texts share some.

The commonest words become bits of 64-bit numbers, so that one ``and`` counts 64 of them for a pair; a sparse product of
the groups counts the others, which few pairs share.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from curation.similarity.rouge import TokenRows, require

if TYPE_CHECKING:
    from curation.similarity.rouge import Ints

CELLS = 1 << 18
"""Pairs whose counts are held at a time, at the most (or those of one text)."""
_BITS = 64
_MOST = 32  # numbers of bits a text
_FEW = 16  # of so many pairs one may share a word that is no bit


class SharedWords:
    """Counts of shared words, of the texts of ``curation.similarity.rouge.encode``.

    Example:
        >>> from curation.similarity.rouge import encode
        >>> import numpy as np
        >>> rows, both = encode(["a b c d", "x y z z", "a b c e"]), np.arange(3)
        >>> [[part.tolist() for part in block] for block in SharedWords(rows).pairs(both, both, 2)]
        [[[0], [2], [3]]]
    """

    def __init__(self, rows: TokenRows) -> None:
        """Take the texts; nothing is counted before the first pairs are asked for."""
        self._rows = rows

    @cached_property
    def _numbers(self) -> int:
        """How many numbers of bits a text has, for its commonest words: the last columns."""
        np, _ = require()
        share = np.bincount(self._rows.matrix.indices, minlength=self._rows.matrix.shape[1]) / len(self._rows.size)
        rarer = np.cumsum(share**2)  # meetings of a pair in a word and all that stand before it, on average
        return min(_MOST, -(-int((rarer > 1 / _FEW).sum()) // _BITS))

    @property
    def _first_bit(self) -> int:
        """The first column that is a bit."""
        return int(self._rows.matrix.shape[1]) - self._numbers * _BITS

    def pairs(self, left: Ints, right: Ints, least: int, *, cells: int = CELLS) -> Iterator[tuple[Ints, Ints, Ints]]:
        """The pairs that share at least so many words, with the number, in blocks: three arrays of one length.

        Args:
            left: Row numbers of texts of one length, ascending.
            right: The same of the other group. The same array as ``left``: each pair once, the lower number first.
            least: From how many shared words on, at least 1.
            cells: Pairs at a time; bounds the memory.
        """
        np, _ = require()
        words = [self._columns(side) for side in (left, right)]
        bits = [self._common(columns) for columns in words]
        rare = self._rare(*words)
        step = max(1, cells // len(right))
        dtype = np.uint8 if words[0].shape[1] < 256 else np.int32
        for start in range(0, len(left), step):
            begin = start if left is right else 0
            counts = np.zeros((min(step, len(left) - start), len(right) - begin), dtype=dtype)
            for ours, theirs in zip(*bits, strict=True):
                counts += np.bitwise_count(ours[start : start + step, None] & theirs[None, begin:])
            if rare:
                met = (rare[0][start : start + step] @ rare[1][:, begin:]).tocoo()
                counts[met.row, met.col] += met.data.astype(dtype)
            flat = np.flatnonzero(counts >= least)
            i, j = np.divmod(flat, counts.shape[1])
            shared = counts.ravel()[flat]
            if left is right:
                later = j > i
                i, j, shared = i[later], j[later], shared[later]
            if len(i):
                yield left[start + i], right[begin + j], shared.astype(np.int64)

    def _columns(self, members: Ints) -> Any:
        """The words of texts of one length, shape (texts, length)."""
        np, _ = require()
        starts = self._rows.matrix.indptr[members].astype(np.int64)
        return self._rows.matrix.indices[starts[:, None] + np.arange(int(self._rows.size[members[0]]))]

    def _common(self, columns: Any) -> Any:
        """The common words as bits, shape (numbers, texts)."""
        np, _ = require()
        place = columns.astype(np.int64) - self._first_bit
        flags = np.uint64(1) << (place % _BITS).astype(np.uint64)
        none = np.uint64(0)
        numbers = (np.where(place // _BITS == n, flags, none).sum(axis=1) for n in range(self._numbers))
        return np.array(list(numbers), dtype=np.uint64).reshape(self._numbers, len(columns))

    def _rare(self, left: Any, right: Any) -> list[Any]:
        """The factors whose product counts the other shared words; none where there are none."""
        np, sparse = require()
        rare = [columns < self._first_bit for columns in (left, right)]
        both = np.intersect1d(left[rare[0]], right[rare[1]])
        if not len(both):
            return []
        factors = []
        for columns, inside in ((left, rare[0]), (right, rare[1])):
            place = np.minimum(np.searchsorted(both, columns), len(both) - 1)
            inside &= both[place] == columns
            indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(inside.sum(axis=1))])
            entries = np.ones(int(indptr[-1]), dtype=np.int32), place[inside], indptr
            factors.append(sparse.csr_matrix(entries, shape=(len(columns), len(both))))
        return [factors[0], factors[1].T.tocsc()]
