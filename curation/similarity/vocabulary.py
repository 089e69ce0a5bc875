"""Words as numbers: which words there are and how often, found in bounded memory however many texts come.

A word is known by 64 bits of its BLAKE2 hash, which lie in a temporary file until all texts have come. Memory then
holds 24 bytes for each different word. That two different words among five million share a hash has a chance below one
in a million.
"""

from __future__ import annotations

import hashlib
import tempfile
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from schemas.core.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_HELD = 250_000  # words in memory before they go to the file
_PORTION = 1_500_000  # words whose different ones are found at a time
_KNOWN = 100_000  # words whose hash is remembered


class Words:
    """A sequence of words that is written once, then numbered from the rarest word to the most frequent one.

    Example:
        >>> words = Words()
        >>> for word in "a b a c a b".split():
        ...     words.add(word)
        >>> [number.tolist() for number in words.numbers()], words.different  # c, b, a
        ([[2, 1, 2, 0, 2, 1]], 3)
    """

    def __init__(self, *, held: int = _HELD, portion: int = _PORTION) -> None:
        self._most, self._portion = held, portion
        self._held, self._known = array("Q"), dict[str, int]()
        self._file: Any = None
        self.total = self.different = 0

    def add(self, word: str) -> None:
        """Take in the next word."""
        number = self._known.get(word)
        if number is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number = self._known[word] = int.from_bytes(digest, "little")
        self._held.append(number)
        self.total += 1
        if len(self._held) >= self._most:
            self._spill()

    def numbers(self) -> Iterator[Ints]:
        """The words' numbers (int32) in order, portion by portion; equally frequent words are in order of their hash.

        The numbers depend on the words only and not on their order.
        """
        import numpy as np

        self._known.clear()
        different, frequency = self._distinct_words()
        self.different = len(different)
        rank = np.empty(len(different), dtype=np.int32)
        rank[np.argsort(frequency, kind="stable")] = np.arange(len(different), dtype=np.int32)
        del frequency
        for part in self._parts():
            yield rank[np.searchsorted(different, part)]

    def _distinct_words(self) -> tuple[Any, Any]:
        """All different words in ascending order, and how often each comes; found range by range of hashes."""
        import numpy as np

        bits = (self.total // self._portion).bit_length()
        distinct = []
        for n in range(2**bits):
            parts = self._parts()
            if bits:
                parts = (part[part >> np.uint64(64 - bits) == n] for part in parts)
            here = np.concatenate([np.empty(0, dtype=np.uint64), *parts])
            here.sort()
            new = np.flatnonzero(np.concatenate([np.ones(min(len(here), 1), dtype=bool), here[1:] != here[:-1]]))
            distinct.append((here[new], np.diff(np.append(new, len(here))).astype(np.int32)))
            del here, new
        return np.concatenate([f[0] for f in distinct]), np.concatenate([f[1] for f in distinct])

    def _parts(self) -> Iterator[Any]:
        import numpy as np

        if self._file is not None:
            self._file.seek(0)
            while (part := np.frombuffer(self._file.read(8 * self._most), dtype=np.uint64)).size:
                yield part
        if self._held:
            yield np.asarray(self._held, dtype=np.uint64)

    def _spill(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - it lives as long as the words
            self._file.write(self._held.tobytes())
        except OSError as error:
            raise UserError(
                f"a temporary file cannot be written: {error.strerror}",
                fix="free some space, or name a roomy folder in TMPDIR",
            ) from None
        self._held = array("Q")
