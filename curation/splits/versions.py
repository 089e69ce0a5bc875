"""What changed between two splits, which version number that asks for, and the changelog that says so.

Rules: dropping a case, or changing anything that a run, a judge or a person sees (a prompt, a question, a target, a
name, a neighbour), makes numbers incomparable and is a major change; adding cases or probes is minor; all else
(sources, labels, Wikidata ids) is a patch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import groupby, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import field_validator

from curation.files.atomic import write_text
from curation.files.json_files import json_lines, read_text
from curation.splits.split_file import CaseStream, Split
from curation.splits.visible_texts import case_records, record_keys, visible_texts
from schemas.cases import AnyCase
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.core.records import Frozen, Key, Text
from schemas.text.counting import counted

Level = Literal["major", "minor", "patch", "none"]
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?")


def parse_version(text: str) -> tuple[int, int, int, str]:
    """Major, minor and patch number and the suffix of a semantic version.

    Raises:
        UserError: it is not MAJOR.MINOR.PATCH.

    Example:
        >>> parse_version("1.2.0-candidate")
        (1, 2, 0, 'candidate')
    """
    if not (match := _VERSION.fullmatch(text)):
        raise UserError(f"'{text}' is no version", allowed="MAJOR.MINOR.PATCH, such as 1.2.0 or 1.2.0-candidate")
    return int(match[1]), int(match[2]), int(match[3]), match[4] or ""


def version_order(version: str) -> tuple[list[int], bool, list[tuple[bool, int, str]]]:
    """What versions sort by, semantic or not: numbers by size, and a suffix (1.0.0-rc.1) before the version itself.

    Example:
        >>> sorted(["1.10.0", "1.9.0", "1.9.0-candidate"], key=version_order)
        ['1.9.0-candidate', '1.9.0', '1.10.0']
    """
    number, _, suffix = version.partition("-")
    parts = [(not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in suffix.split(".")]
    return [int(p) if p.isdigit() else 0 for p in number.split(".")], not suffix, parts


def next_version(version: str, level: Level) -> str:
    """The next version after a change; while the major number is 0, a major change raises the minor one.

    Example:
        >>> [next_version("1.2.3", size) for size in ("major", "minor", "patch")], next_version("0.2.3", "major")
        (['2.0.0', '1.3.0', '1.2.4'], '0.3.0')
    """
    major, minor, patch, _ = parse_version(version)
    if level == "major" and major > 0:
        return f"{major + 1}.0.0"
    if level in ("major", "minor"):
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if level == "patch" else version


class CaseChange(NamedTuple):
    """One case that differs.

    Attributes:
        key: The case's key.
        what: ``added``, ``dropped`` or ``changed``.
        level: What version number it asks for.
        details: What differs inside, in words.
        reason: Why, where it is known: an erratum, or what the new rule says; empty where nobody knows.
    """

    key: str
    what: Literal["added", "dropped", "changed"]
    level: Level
    details: tuple[str, ...] = ()
    reason: str = ""

    @property
    def text(self) -> str:
        """Details and reason in a line; equal details are said once with their number."""
        numbers = Counter(self.details)
        details = [text if n == 1 else f"{n} x {text}" for text, n in numbers.items()]
        return "; ".join([*details, *([self.reason] if self.reason else [])])


class Diff(NamedTuple):
    """All changes between two splits, in order of the cases' keys."""

    old: Split
    new: Split
    changes: tuple[CaseChange, ...]

    def of(self, what: str) -> list[CaseChange]:
        """The changes of one sort."""
        return [c for c in self.changes if c.what == what]

    @property
    def level(self) -> Level:
        """The greatest change."""
        return greatest([c.level for c in self.changes])

    @property
    def suggested(self) -> str:
        """The version that the rules ask for, at the least."""
        return next_version(self.old.version, self.level)


def greatest(levels: Sequence[Level]) -> Level:
    """The greatest of some levels.

    Example:
        >>> greatest(["patch", "minor"]), greatest([])
        ('minor', 'none')
    """
    return min(levels, key=get_args(Level).index, default="none")


Why = Callable[[str, Literal["added", "dropped"]], str]
"""Says why a case or record (by key) was added or dropped."""


def diff(old: Split, new: Split, *, why: Why | None = None) -> Diff:
    """Compare two splits case by case.

    Args:
        old: The version before.
        new: The version after; its header's errata are reasons.
        why: Asked for the reason of every change that no erratum explains.
    """
    errata, changes = merge_errata(new.header), []
    for before, after in _side_by_side(old.all_cases, new.all_cases):
        if after is None and before is not None:
            reason = _errata_on(before, errata) or (why(before.key, "dropped") if why else "")
            changes.append(CaseChange(before.key, "dropped", "major", (), reason))
        elif before is None and after is not None:
            reason = _withdrawn_on(after, errata) or (why(after.key, "added") if why else "")
            changes.append(CaseChange(after.key, "added", "minor", (), reason))
        elif before is not None and after is not None and before.id != after.id:
            level, details = _compare(before, after)
            reasons = list(filter(None, (_errata_on(before, errata), _withdrawn_on(after, errata))))
            reasons = reasons or (_reasons_inside(before, after, why) if why else [])
            changes.append(CaseChange(before.key, "changed", level, details, "; ".join(reasons)))
    return Diff(old, new, tuple(changes))


def _side_by_side(old: Iterable[AnyCase], new: Iterable[AnyCase]) -> Iterator[tuple[AnyCase | None, AnyCase | None]]:
    """Cases of both splits, joined by their keys."""
    ordered = [c if isinstance(c, CaseStream) else sorted(c, key=lambda case: case.key) for c in (old, new)]
    sides = [zip(repeat(n), cases) for n, cases in enumerate(ordered)]
    for _, group in groupby(merge(*sides, key=lambda pair: pair[1].key), key=lambda pair: pair[1].key):
        pair = dict(group)
        yield pair.get(0), pair.get(1)


def _reasons_inside(before: AnyCase, after: AnyCase, why: Why) -> list[str]:
    """Why records of a changed case were added or dropped; a record in both with other content was corrected."""
    old, new = ({r.key: r.id for r in case_records(case)} for case in (before, after))
    reasons = {key: why(key, "dropped") for key in old if key not in new}
    reasons |= {key: why(key, "added") for key in new if key not in old}
    reasons |= {key: "corrected in the store" for key in old if old[key] != new.get(key, old[key])}
    keys: dict[str, list[str]] = {}
    for key, reason in reasons.items():
        keys.setdefault(reason, []).append(key)
    return [f"{', '.join(of)}: {reason}" for reason, of in keys.items()]


def _errata_on(case: AnyCase, errata: Errata) -> str:
    inside = {case.key} | set(record_keys(case)) if errata.entries else set()
    standing = (e for e in errata.entries if e.item in inside and e in errata.standing(e.item))
    return "; ".join(f"erratum on {e.item}: {e.what}" for e in standing)


def _withdrawn_on(case: AnyCase, errata: Errata) -> str:
    """Withdrawals that nothing followed."""
    inside = {case.key} | set(record_keys(case)) if errata.entries else set()
    ended = (e for e in errata.entries if e.action == "withdraw" and e.item in inside and not errata.standing(e.item))
    return "; ".join(f"erratum on {e.item} withdrawn: {e.what}" for e in ended)


def _compare(old: AnyCase, new: AnyCase) -> tuple[Level, tuple[str, ...]]:
    before, after = visible_texts(old), visible_texts(new)
    details = []
    dropped, more = [k for k in before if k not in after], [k for k in after if k not in before]
    other = [k for k in before if k in after and before[k] != after[k]]
    for verb, keys in (("changed", other), ("dropped", dropped), ("added", more)):
        details += [f"{what} {verb}" + (f": {before[what, key]} now {after[what, key]}" if what == "target" else "")
                    for what, key in keys]  # fmt: skip
    if dropped or other:
        return "major", tuple(details)
    return (
        ("minor", tuple(details)) if more else ("patch", ("only what nobody is asked or shown: sources, labels, ids",))
    )


def check_version(diff: Diff, version: str) -> None:
    """Refuse a version number that hides a change.

    Raises:
        UserError: it is not after the old one, or smaller than the rules ask for.
    """
    wanted, smallest = parse_version(version), parse_version(diff.suggested)
    too_small = version_order(version) < version_order(diff.suggested)
    if too_small or (diff.level != "none" and wanted[3] and wanted[:3] < smallest[:3]):
        counts = ", ".join(f"{len(diff.of(w))} {w}" for w in ("added", "dropped", "changed"))
        raise UserError(
            f"{diff.new.name} {version} after {diff.old.version} hides a {diff.level} change ({counts})",
            allowed=f"{diff.suggested} or later",
            fix=f"--version {diff.suggested}",
        )


def changelog(diff: Diff, *, date: str, limit: int = 50) -> str:
    """The changes as a changelog entry in Markdown.

    Args:
        diff: The comparison.
        date: ISO date of the entry.
        limit: Cases to name of each sort; the rest is counted.
    """
    old, new = diff.old, diff.new
    lines = [f"## {new.name} {new.version} ({date})", ""]
    number = counted(len(new.all_cases), "case")
    lines.append(
        f"{number}, digest {new.digest[:12]}; {old.version} had {len(old.all_cases)}, digest "
        f"{old.digest[:12]}. This is a {diff.level} change."
        if diff.changes
        else f"The same {number} as {old.version} (digest {new.digest[:12]})."
    )
    for what in ("dropped", "changed", "added"):
        changes = diff.of(what)
        if not changes:
            continue
        lines += ["", f"### {what.capitalize()} ({len(changes)})", ""]
        for change in changes[:limit]:
            lines.append(f"- `{change.key}`" + (f": {change.text}" if change.text else ""))
        if len(changes) > limit:
            lines.append(f"- and {len(changes) - limit} more")
    return "\n".join(lines) + "\n"


class Erratum(Frozen):
    """One known fault.

    Attributes:
        item: Key of a fact, question, script, prompt, neighbour or case.
        id: Content id of the faulty version; once the item has other content, the erratum is history and no longer
            applied. None: it holds for every version.
        what: The fault, in a sentence.
        action: ``drop`` takes the item out, ``hold`` keeps it out until somebody has looked, ``note`` only tells,
            ``withdraw`` takes back every entry on the item that stands before it; all of them stay stored.
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
        self._standing: dict[str, list[Erratum]] = {}
        for entry in self.entries:
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
