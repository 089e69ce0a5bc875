"""Texts to compare, many of them: what memory holds of each is where it lies in a temporary file."""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from curation.similarity import require, words
from schemas.errors import UserError
from schemas.registry import suggest

if TYPE_CHECKING:
    from curation.similarity import Ints

_PORTION = 1000
PREFERENCES = ("key", "longest", "shortest", "judged")


class Item(NamedTuple):
    """A text to compare: the content id and the key of its record, and the group inside which it is compared."""

    id: str
    key: str
    text: str
    group: str = ""


class Items(Sequence[Item]):
    """Items in order of preference.

    Args:
        items: Each id once; in order of their keys they need no sorting.
        prefer: Who comes first: by ``key``, the ``longest`` or ``shortest`` in words (then key), or the one with the
            most ``keeps`` (then key).
        keeps: Keep verdicts less drop verdicts, by item id.

    Raises:
        UserError: an id twice, or no such preference.
    """

    def __init__(self, items: Iterable[Item], *, prefer: str = "key", keeps: Mapping[str, int] | None = None) -> None:
        if prefer not in PREFERENCES:
            near = suggest(prefer, list(PREFERENCES))
            fix = f"did you mean '{near}'?" if near else None
            raise UserError(f"unknown preference '{prefer}'", allowed=", ".join(PREFERENCES), fix=fix)
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - it lives as long as the items
        self._starts = array("q", [0])
        self._order: Ints | None = None
        weights, hashes, ascending, before = array("q"), array("q"), True, ("", "")
        for item in items:
            self._starts.append(self._starts[-1] + self._file.write(json.dumps(item).encode() + b"\n"))
            hashes.append(hash(item.id))
            weights.append(_weight(item, prefer, keeps or {}))
            ascending, before = ascending and before <= (item.key, item.id), (item.key, item.id)
        self._file.flush()
        self._check(hashes)
        self._sort(weights, ascending=ascending)

    def _check(self, hashes: array[int]) -> None:
        np, _ = require()
        if len(np.unique(np.asarray(hashes))) < len(hashes):
            twice, times = Counter(i.id for i in self).most_common(1)[0]
            if times > 1:
                raise UserError(f"the item '{twice}' was given twice")

    def _sort(self, weights: array[int], *, ascending: bool) -> None:
        np, _ = require()
        weight = np.asarray(weights)
        if ascending and not weight.any():
            return
        place = np.arange(len(weight), dtype=np.int64)
        if not ascending:
            names = [(i.key, i.id) for i in self]
            place = np.asarray(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
        self._order = place[np.argsort(weight[place], kind="stable")]

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        """An item, or some."""
        places = range(len(self))[place]
        return tuple(map(self._read, places)) if isinstance(places, range) else self._read(places)

    def __iter__(self) -> Iterator[Item]:
        if self._order is not None:
            yield from map(self._read, range(len(self)))
            return
        for first in range(0, len(self), _PORTION):
            begin, end = self._starts[first], self._starts[min(first + _PORTION, len(self))]
            for line in os.pread(self._file.fileno(), end - begin, begin).split(b"\n")[:-1]:
                yield Item(*json.loads(line))

    def _read(self, number: int) -> Item:
        at = number if self._order is None else int(self._order[number])
        line = os.pread(self._file.fileno(), self._starts[at + 1] - self._starts[at], self._starts[at])
        return Item(*json.loads(line))


def _weight(item: Item, prefer: str, keeps: Mapping[str, int]) -> int:
    """What orders before the key; the smallest first."""
    if prefer in ("longest", "shortest"):
        return len(words(item.text)) * (-1 if prefer == "longest" else 1)
    return -keeps.get(item.id, 0) if prefer == "judged" else 0
