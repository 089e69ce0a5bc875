"""Texts to compare, many of them: what memory holds of each is where it lies in a temporary file."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from curation.files.disk_list import DiskList
from curation.similarity.rouge import require, words
from schemas.core.errors import UserError
from schemas.core.registry import suggest

if TYPE_CHECKING:
    from curation.similarity.vocabulary import Ints

PREFERENCES = ("key", "longest", "shortest", "judged")


class TextItem(NamedTuple):
    """A text to compare: the content id and the key of its record, and the group inside which it is compared."""

    id: str
    key: str
    text: str
    group: str = ""


class TextItems(Sequence[TextItem]):
    """Items in order of preference.

    Args:
        items: Each id once; in order of their keys they need no sorting.
        prefer: Who comes first: by ``key``, the ``longest`` or ``shortest`` in words (then key), or the one with the
            most ``keeps`` (then key).
        keeps: Keep verdicts less drop verdicts, by item id.

    Raises:
        UserError: an id twice, or no such preference.
    """

    def __init__(
        self, items: Iterable[TextItem], *, prefer: str = "key", keeps: Mapping[str, int] | None = None
    ) -> None:
        if prefer not in PREFERENCES:
            near = suggest(prefer, list(PREFERENCES))
            fix = f"did you mean '{near}'?" if near else None
            raise UserError(f"unknown preference '{prefer}'", allowed=", ".join(PREFERENCES), fix=fix)
        self._order: Ints | None = None
        self._weights, self._hashes, self._ascending = array("q"), array("q"), True
        self._items = DiskList(self._weigh_items(items, prefer, keeps or {}), load=_item)
        self._check(self._hashes)
        self._sort(self._weights, ascending=self._ascending)
        del self._weights, self._hashes

    def _weigh_items(self, items: Iterable[TextItem], prefer: str, keeps: Mapping[str, int]) -> Iterator[TextItem]:
        before = ("", "")
        for item in items:
            self._hashes.append(hash(item.id))
            self._weights.append(_weight(item, prefer, keeps))
            self._ascending = self._ascending and before <= (item.key, item.id)
            before = (item.key, item.id)
            yield item

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
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> TextItem: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[TextItem, ...]: ...
    def __getitem__(self, place: int | slice) -> TextItem | tuple[TextItem, ...]:
        """An item, or some."""
        places = range(len(self))[place]
        return tuple(map(self._read, places)) if isinstance(places, range) else self._read(places)

    def __iter__(self) -> Iterator[TextItem]:
        return iter(self._items) if self._order is None else map(self._read, range(len(self)))

    def _read(self, number: int) -> TextItem:
        return self._items[number if self._order is None else int(self._order[number])]


def _item(data: list[str]) -> TextItem:
    return TextItem(*data)


def _weight(item: TextItem, prefer: str, keeps: Mapping[str, int]) -> int:
    """What orders before the key; the smallest first."""
    if prefer in ("longest", "shortest"):
        return len(words(item.text)) * (-1 if prefer == "longest" else 1)
    return -keeps.get(item.id, 0) if prefer == "judged" else 0
