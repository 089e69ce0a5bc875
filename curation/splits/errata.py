"""Errata: known faults of published items. They point at keys, are applied when freezing, and carry over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import field_validator

from curation.files.atomic import write_text
from curation.files.json_files import json_lines, read_text
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.core.records import Frozen, Key, Text


class Erratum(Frozen):
    """One known fault.

    Attributes:
        item: Key of a fact, question, script, prompt, neighbour or case.
        id: Content id of the faulty version; once the item has other content, the erratum is history and no longer
            applied. None: it holds for every version.
        what: The fault, in a sentence.
        action: ``drop`` takes the item out, ``hold`` keeps it out until somebody has looked, ``note`` only tells,
            ``withdraw`` takes back every entry on the item that stands before it; all of them stay on record.
        date: ISO date of the entry.
    """

    item: Key
    id: str | None = None
    what: Text
    action: Literal["drop", "hold", "note", "withdraw"] = "drop"
    date: str

    @field_validator("date")
    @classmethod
    def _iso(cls, date: str) -> str:
        try:
            datetime.fromisoformat(date)
        except ValueError:
            raise ValueError(f"'{date}' is no ISO date such as 2026-11-21") from None
        return date


class Errata:
    """Errata by item.

    Example:
        >>> known = Errata([Erratum(item="f/1", what="wrong capital", date="2026-11-21")])
        >>> known.of("f/1", "0123").what, known.of("f/2", "0123")
        ('wrong capital', None)
    """

    def __init__(self, entries: Iterable[Erratum] = ()) -> None:
        self.entries = tuple(entries)
        self._of: dict[str, list[Erratum]] = {}
        self._standing: dict[str, list[Erratum]] = {}
        for entry in self.entries:
            self._of.setdefault(entry.item, []).append(entry)
            if entry.action == "withdraw":
                self._standing[entry.item] = []
            else:
                self._standing.setdefault(entry.item, []).append(entry)

    def of(self, key: str, item_id: str) -> Erratum | None:
        """The erratum that applies to an item: drop before hold; a ``note``, and what was withdrawn, to nothing."""
        if key not in self._standing:
            return None
        entries = [e for e in self._standing[key] if e.action != "note" and e.id in (None, item_id)]
        return min(entries, key=lambda e: (e.action != "drop", e.date), default=None)

    def on(self, key: str) -> tuple[Erratum, ...]:
        """Every entry on an item, applied or not."""
        return tuple(self._of.get(key, ()))

    def standing(self, key: str) -> tuple[Erratum, ...]:
        """The entries on an item that nobody withdrew."""
        return tuple(self._standing.get(key, ()))

    def header(self) -> list[dict[str, Any]]:
        """The entries as a split's header keeps them."""
        return [e.model_dump(mode="json") for e in self.entries]


def read_errata(path: Path) -> Errata:
    """Read an errata file (JSONL).

    Raises:
        UserError: there is no such file.
        DataError: a line is no erratum; names it.
    """
    text = read_text(path, "errata file", fix="make one: scedit split errata add")
    return Errata([validate(Erratum, data, where=where) for _, where, data in json_lines(path, text)])


def add_erratum(path: Path, entry: Erratum) -> bool:
    """Append an entry, flushed to the disk; False where the same entry (its date aside) stands there already.

    Raises:
        UserError: the same entry of the same day was withdrawn: of two equal entries only the first is kept.
    """
    known = read_errata(path) if path.exists() else Errata()
    if any(e.model_copy(update={"date": entry.date}) == entry for e in known.standing(entry.item)):
        return False
    _refuse_repeated(entry, known, path)
    write_errata((*known.entries, entry), path)
    return True


def withdraw_errata(
    path: Path, item: str, why: str, *, date: str, header: Mapping[str, Any] | None = None
) -> tuple[Erratum, ...]:
    """Append an entry that takes back those on an item, of the file and of a split's header; returns those.

    Raises:
        UserError: nothing on the item stands, or it was taken back before with the same words.
    """
    file_entries = read_errata(path).entries if path.exists() else ()
    known = merge_errata(header, file_entries)
    if not (standing := known.standing(item)):
        raise UserError(f"no erratum on '{item}' stands", where=str(path), fix="see them: scedit split errata list")
    entry = validate(Erratum, {"item": item, "what": why, "action": "withdraw", "date": date}, where=item)
    _refuse_repeated(entry, known, path)
    write_errata((*file_entries, entry), path)
    return standing


def _refuse_repeated(entry: Erratum, known: Errata, path: Path) -> None:
    """Of equal entries only the first is kept, so that one that stands there already would say nothing more."""
    if entry in known.entries:
        raise UserError(f"this entry on '{entry.item}' stands there already", where=str(path), fix="say it otherwise")


def write_errata(entries: Iterable[Erratum], path: Path) -> None:
    """Write an errata file, flushed to the disk, in the place of what stood there."""
    write_text(path, "".join(e.model_dump_json() + "\n" for e in entries), "the errata")


def merge_errata(header: Mapping[str, Any] | None, entries: Iterable[Erratum] = ()) -> Errata:
    """The errata of the version before (in its header) and one's own, each once: nothing known gets lost.

    Example:
        >>> old = Erratum(item="f/1", what="wrong capital", date="2026-01-01")
        >>> new = Erratum(item="f/2", what="no such person", date="2026-02-01")
        >>> [e.item for e in merge_errata({"errata": [old.model_dump()]}, [old, new]).entries]
        ['f/1', 'f/2']
    """
    before = [validate(Erratum, e, where="the split's header") for e in (header or {}).get("errata", ())]
    return Errata(dict.fromkeys([*before, *entries]))
