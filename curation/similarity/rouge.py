"""Similarity of short texts by their words: the exact measure, and texts as rows of numbers to measure many.

Words: the text is folded (NFKD, combining marks and format characters removed, case folded); a word is a longest run of
letters, digits and underscores, and every character of a script written without spaces is a word of its own. Nothing is
stemmed, and no word is left out.

ROUGE-1 F of two texts (Lin, 2004) is the F-measure of their clipped word overlap, which is symmetric:
``2·overlap / (words(a) + words(b))``. The k-th occurrence of a word counts as an element of its own, so a text becomes
a set and the measure becomes Dice's coefficient F, tied to Jaccard's J by J = F / (2 - F).
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.core.errors import MissingPackage, UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

EPSILON = 1e-9  # thresholds such as 0.4 are not exact in binary; a pair at the threshold belongs to it
_PART = 20_000  # texts whose words are looked at together
CELLS = 4_000_000  # pairs whose shared words are counted at a time
_UNSPACED = "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def fold(text: str) -> str:
    """Compatibility forms, diacritics, format characters and case folded away.

    Example:
        >>> fold("CÔTE d'Ivoire")
        "cote d'ivoire"
    """
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c) and unicodedata.category(c) != "Cf").casefold()


def words(text: str) -> list[str]:
    """The words of a text, folded.

    Example:
        >>> words("How can I reach São Paulo, 東京?")
        ['how', 'can', 'i', 'reach', 'sao', 'paulo', '東', '京']
    """
    return _WORD.findall(fold(text))


def plain_text(text: str) -> str:
    """The form in which texts are compared for equality: words and the signs + # & kept, the rest one space.

    Example:
        >>> plain_text("  The  C++ committee!"), plain_text("the C committee")
        ('the c++ committee', 'the c committee')
    """
    folded = fold(text)
    return " ".join(re.sub(r"[^\w+#&]+", " ", folded).split()) or " ".join(folded.split())


def rouge1_f(a: str, b: str) -> float:
    """ROUGE-1 F of two texts, 0 to 1; 0 where one has no word. ``similar_pairs`` must equal it.

    Example:
        >>> round(rouge1_f("How can I visit Peru?", "How do I visit Peru?"), 3)
        0.8
    """
    left, right = Counter(words(a)), Counter(words(b))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if left and right else 0.0


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
    np, sparse = require()
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
    np, _ = require()
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


def can_reach(rows: TokenRows, first: Ints, second: Ints, *, threshold: float) -> NDArray[np.bool_]:
    """Which pairs their lengths and parities do not rule out; never rules out a pair at or above the threshold."""
    np, _ = require()
    a, b = rows.size[first], rows.size[second]
    total = a + b
    possible = 2 * np.minimum(a, b) >= threshold * total - EPSILON
    bits = np.bitwise_count(rows.parity[first, 0] ^ rows.parity[second, 0]).astype(np.int64)
    bits += np.bitwise_count(rows.parity[first, 1] ^ rows.parity[second, 1])
    possible &= bits <= (1 - threshold) * total + EPSILON  # words not shared: total - 2·overlap
    return possible  # type: ignore[no-any-return]


def score_pairs(rows: TokenRows, first: Ints, second: Ints, *, threshold: float) -> SimilarPairs:
    """Of the given pairs those at or above the threshold, with their ROUGE-1 F."""
    np, _ = require()
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


def require() -> tuple[Any, Any]:
    """The packages numpy and scipy.sparse, which the base install does not have."""
    try:
        import numpy as np
        from scipy import sparse  # type: ignore[import-untyped, unused-ignore]
    except ModuleNotFoundError as error:
        raise MissingPackage(error.name or "scipy", extra="eval") from None
    return np, sparse


def _parity(matrix: Any, size: Ints) -> Any:
    np, _ = require()
    out = np.zeros((len(size), 2), dtype=np.uint64)
    for start in range(0, len(size), _PART):
        full = start + np.flatnonzero(size[start : start + _PART])
        if not len(full):
            continue
        begin, end = matrix.indptr[full[0]], matrix.indptr[min(start + _PART, len(size))]
        place = (matrix.indices[begin:end].astype(np.uint32) * np.uint32(2654435769)) >> np.uint32(25)
        bit = np.uint64(1) << (place & np.uint32(63)).astype(np.uint64)
        for half in (0, 1):
            bits = np.where(place >> np.uint32(6) == half, bit, np.uint64(0))
            out[full, half] = np.bitwise_xor.reduceat(bits, matrix.indptr[full] - begin)
    return out
