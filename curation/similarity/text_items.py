"""Texts to compare, in order of preference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from curation.similarity.rouge import words
from schemas.core.errors import UserError
from schemas.core.registry import suggest

PREFERENCES = ("key", "longest", "shortest", "judged")


class TextItem(NamedTuple):
    """A text to compare: the content id and the key of its record, and the group inside which it is compared."""

    id: str
    key: str
    text: str
    group: str = ""


def text_items(
    items: Iterable[TextItem], *, prefer: str = "key", keeps: Mapping[str, int] | None = None
) -> tuple[TextItem, ...]:
    """Items in order of preference.

    Args:
        items: Each id once.
        prefer: Who comes first: by ``key``, the ``longest`` or ``shortest`` in words (then key), or the one with the
            most ``keeps`` (then key).
        keeps: Keep verdicts less drop verdicts, by item id.

    Raises:
        UserError: an id twice, or no such preference.
    """
    if prefer not in PREFERENCES:
        near = suggest(prefer, list(PREFERENCES))
        fix = f"did you mean '{near}'?" if near else None
        raise UserError(f"unknown preference '{prefer}'", allowed=", ".join(PREFERENCES), fix=fix)
    ordered = sorted(items, key=lambda item: (_weight(item, prefer, keeps or {}), item.key, item.id))
    repeated = next((item for item, times in Counter(i.id for i in ordered).items() if times > 1), None)
    if repeated is not None:
        raise UserError(f"the item '{repeated}' was given twice")
    return tuple(ordered)


def _weight(item: TextItem, prefer: str, keeps: Mapping[str, int]) -> int:
    """What orders before the key; the smallest first."""
    if prefer in ("longest", "shortest"):
        return len(words(item.text)) * (-1 if prefer == "longest" else 1)
    return -keeps.get(item.id, 0) if prefer == "judged" else 0
