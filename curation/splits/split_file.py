"""Frozen splits: a JSONL file with a header and one case a line, held together by a digest.

The digest covers the cases' content and nothing else, so the same cases have the same digest wherever and whenever they
were frozen, and a split that changed under the same name is noticed. A name is never a path; a released header is
sealed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from curation.files.atomic import atomic_file
from curation.files.json_files import text_lines
from schemas.cases import CASE_TYPES, FACT, AnyCase, Case, read_case
from schemas.core.config import explain
from schemas.core.errors import DataError, UserError
from schemas.core.ids import canonical_json, digest
from schemas.extras import Extra
from schemas.text.counting import counted

FORMAT = 1
WITH_EXTRAS = 2
"""Format of a file that has lines ``{"extra": ...}`` behind its cases."""
TYPED = 3
"""Format of a split whose edits are no facts, with or without extras: its header has a ``type``."""
SEAL = "header_digest"
_UNSEALED = ("format", "extras", SEAL)  # a file's own business
_NAME = re.compile(r"\w[\w.-]{0,99}")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices; no file can have one."""
_REASONS = 8  # that are named
C = TypeVar("C", bound=AnyCase)


class Extras:
    """What the sources say beside a split's facts: other probes, hops, popularity.

    Example:
        >>> extra = Extra.holding("f/1/extra/x", [1], subject_key="f/1", name="x")
        >>> [e.key for e in Extras([extra]).of(["f/1"])], bool(NONE)
        (['f/1/extra/x'], False)
    """

    def __init__(self, held: Iterable[Extra] = ()) -> None:
        self._held = tuple(sorted(held, key=lambda e: e.key))

    def __iter__(self) -> Iterator[Extra]:
        """All, in order of their keys."""
        return iter(self._held)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extras) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def of(self, facts: Collection[str]) -> list[Extra]:
        """Those of some facts, by the facts' keys."""
        wanted = set(facts)
        return [e for e in self._held if e.subject_key in wanted]


NONE = Extras()


class CaseStream(Sequence[C], Generic[C]):
    """Cases that are read anew each time they are gone through; one at a time is in memory.

    Args:
        count: How many there are.
        read: Begins a new pass over them.
    """

    def __init__(self, count: int, read: Callable[[], Iterator[C]]) -> None:
        self._count, self._read = count, read

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[C]:
        return self._read()

    def __getitem__(self, place: Any) -> Any:
        """A case (reads up to there), or some cases (reads all)."""
        if isinstance(place, slice):
            return tuple(self._read())[place]
        return next(itertools.islice(self._read(), range(self._count)[place], None))


class Split(NamedTuple):
    """A frozen split. ``header`` keeps the rule, the counts and whatever else was said of it.

    ``all_cases`` are in order of their keys and of one type: a tuple, or a ``CaseStream`` that reads them when they are
    gone through. ``extras`` are what the sources say beside (the digest does not cover them, no run reads them).
    """

    name: str
    version: str
    digest: str
    all_cases: Sequence[AnyCase]
    header: dict[str, Any]
    extras: Extras = NONE

    def __repr__(self) -> str:
        """Name, version, number of cases, digest."""
        return f"Split({self.name}@{self.version}, {len(self.all_cases)} cases, digest {self.digest[:12]})"

    @property
    def type(self) -> str:
        """What its edits are: ``fact``, ``event`` or ``document`` (a name in ``CASE_TYPES``)."""
        return header_type(self.header, self.name)

    @property
    def cases(self) -> Sequence[Case]:
        """The cases of a split of facts.

        Raises:
            UserError: its edits are of another type.
        """
        if self.type != FACT:
            raise UserError(
                f"this works on edits of facts, and the split's edits are {self.type}s",
                where=f"{self.name}@{self.version}",
                fix="choose a split of facts; the store's: scedit store stats",
            )
        return self.all_cases  # type: ignore[return-value]

    @classmethod
    def checked(cls, header: dict[str, Any], cases: Sequence[AnyCase], *, where: str) -> Split:
        """A split from a header and cases that must belong together.

        Raises:
            DataError: a number or the digest differs, or a case is there twice.
        """
        keys = [c.key for c in cases]
        if len(set(keys)) != len(keys):
            twice = next(k for k in keys if keys.count(k) > 1)
            raise DataError(f"the case '{twice}' is there twice", where=where)
        if (stated := header.get("cases")) != len(cases):
            there = counted(len(cases), "is there", "are there")
            raise DataError(
                f"the header says {stated} {'case' if stated == 1 else 'cases'}, {there}: cut off or edited",
                where=where,
                fix="get a whole copy",
            )
        if one_type({c.request.kind for c in cases}, where) != header_type(header, where):
            raise DataError(
                f"the header says edits of the type '{header_type(header, where)}', the cases are others",
                where=where,
                fix="get a whole copy",
            )
        actual = cases_digest(cases)
        if header.get("digest") != actual:
            raise DataError(
                f"these are not the frozen cases (digest {actual[:12]}, header says {str(header.get('digest'))[:12]})",
                where=where,
                fix="get a whole copy, or freeze the changed cases under a new version",
            )
        return cls(str(header["split"]), str(header["version"]), actual, tuple(cases), header)


def cases_digest(cases: Iterable[AnyCase]) -> str:
    """SHA-256 over the cases' canonical JSON in order of their keys."""
    return digest(canonical_json(c.payload()) for c in sorted(cases, key=lambda c: c.key))


class RunningDigest:
    """The same digest, of cases that come in order of their keys, one at a time.

    Example:
        >>> RunningDigest().hexdigest() == cases_digest([])
        True
    """

    def __init__(self) -> None:
        self._hash, self._last, self.cases = hashlib.sha256(), "", 0

    def add(self, key: str, text: str) -> bool:
        """Take in a case by its canonical JSON text; False where its key does not come after the one before."""
        if key <= self._last:
            return False
        self._last, self.cases = key, self.cases + 1
        self._hash.update(text.encode("utf-8", "surrogatepass") + b"\n")
        return True

    def hexdigest(self) -> str:
        """The digest of the cases so far."""
        return self._hash.hexdigest()


def header_of(
    name: str, version: str, cases: int, digest: str, details: dict[str, Any] | None, *, type: str = FACT
) -> dict[str, Any]:
    """A split's header: what every one has, then what is said of this one; ``type`` where its edits are no facts."""
    typed = {} if type == FACT else {"type": type}
    own_details = {k: v for k, v in (details or {}).items() if k != "type"}
    return (
        {"format": TYPED if typed else FORMAT, "split": name, "version": version, "cases": cases, "digest": digest}
        | typed
        | own_details
    )


def under_version(split: Split, version: str, details: dict[str, Any] | None = None) -> Split:
    """The same frozen cases under another version, with another header; nothing is read."""
    header = header_of(split.name, version, len(split.all_cases), split.digest, details, type=split.type)
    return Split(split.name, version, split.digest, split.all_cases, header, split.extras)


def make_split(
    name: str, cases: Iterable[AnyCase], *, version: str = "1.0.0", details: dict[str, Any] | None = None
) -> Split:
    """A split of cases in order of their keys.

    Raises:
        UserError: there is no case, or cases of several types.
    """
    ordered = sorted(cases, key=lambda c: c.key)
    if not ordered:
        raise no_case(name)
    type = one_type({case.request.kind for case in ordered}, name)
    header = header_of(name, version, len(ordered), cases_digest(ordered), details, type=type)
    return Split.checked(header, ordered, where=name)


def part_of(split: Split, name: str, keys: Set[str], *, details: dict[str, Any] | None = None) -> Split:
    """Some of a split's cases as a split of the same version."""
    cases = (case for case in split.all_cases if case.key in keys)
    return make_split(name, cases, version=split.version, details=details)


def write_split(split: Split, path: Path | str) -> int:
    """Write a split file, case by case; returns the number of cases. A half-written one never stands under its name.

    Extras follow the cases, and the file's header then says how many they are, with a digest of their own.
    """
    format_number = FORMAT if split.type == FACT else TYPED
    header = {k: v for k, v in split.header.items() if k != "extras"} | {"format": format_number}
    if split.extras:
        header |= {"format": max(format_number, WITH_EXTRAS), "extras": _sum(split.extras)}
    with atomic_file(Path(path), "the split") as file:
        file.write(json.dumps(header, ensure_ascii=False) + "\n")
        for case in split.all_cases:
            file.write(json.dumps(case.payload(), ensure_ascii=False, separators=(",", ":")) + "\n")
        for extra in split.extras:
            file.write(json.dumps({"extra": extra.payload()}, ensure_ascii=False, separators=(",", ":")) + "\n")
    return len(split.all_cases)


def _sum(extras: Iterable[Extra]) -> dict[str, Any]:
    running = RunningDigest()
    for extra in extras:
        running.add(extra.key, canonical_json(extra.payload()))
    return {"records": running.cases, "digest": running.hexdigest()}


def load_split(path: Path | str) -> Split:
    """Read a split file and verify it.

    Raises:
        UserError: there is no such file.
        DataError: cut off, edited, or not a split file; names the line.
    """
    return read_split(enumerate(text_lines(Path(path), "split file"), 1), Path(path))


def read_split(lines: Iterable[tuple[int, str]], path: Path) -> Split:
    """The same of numbered lines that were read already; ``path`` is where they came from, for messages.

    Raises:
        DataError: cut off, edited, or not a split file; names the line.
    """
    lines = iter(lines)
    header, cases, extras = _header(next(lines, (1, ""))[1], path), list[AnyCase](), list[Extra]()
    for number, line in lines:
        try:
            if line.startswith('{"extra":'):
                extras.append(Extra.model_validate(json.loads(line)["extra"]))
            elif line.strip():
                cases.append(read_case(line))
        except ValueError as error:
            what = explain(error) if isinstance(error, ValidationError) else "not a line of a split"
            raise DataError(what, where=f"{path}, line {number}", fix="get a whole copy") from None
    return Split.checked(header, cases, where=str(path))._replace(extras=_checked_extras(extras, header, path))


def _checked_extras(extras: Sequence[Extra], header: dict[str, Any], path: Path) -> Extras:
    checked, stated = Extras(extras), header.pop("extras", None)
    header["format"] = TYPED if "type" in header else FORMAT  # what the file needed, not what the split is
    if (stated or extras) and stated != _sum(checked):
        raise DataError("the extras behind the cases are cut off or edited", where=str(path), fix="get a whole copy")
    return checked


def _header(line: str, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except json.JSONDecodeError:
        header = None
    if not isinstance(header, dict) or not {"split", "version", "digest", "cases"} <= set(header):
        raise DataError(
            "not a split file (its first line is no header)", where=str(path), fix="freeze one: scedit split freeze"
        )
    if header.get("format") not in (FORMAT, WITH_EXTRAS, TYPED):
        raise DataError(
            f"split format {header.get('format')} is not known",
            where=str(path),
            allowed=f"{FORMAT}, {WITH_EXTRAS}, {TYPED}",
            fix="upgrade scedit",
        )
    check_header(header, str(path))
    header_type(header, str(path))
    return header


def one_type(types: Collection[str], where: str) -> str:
    """The only one of some types (``fact`` where there is none).

    Raises:
        UserError: several: a split holds edits of one type.
    """
    if len(types) > 1:
        raise UserError(
            f"the cases are edits of several types ({', '.join(sorted(types))})",
            where=where,
            allowed="one type a split",
            fix="make a split of each",
        )
    return next(iter(types), FACT)


def header_type(header: Mapping[str, Any], where: str) -> str:
    """The type of a split's cases, as its header says.

    Raises:
        DataError: a type that this version does not know.
    """
    name = str(header.get("type", FACT))
    if name not in CASE_TYPES:
        raise DataError(
            f"cases of the type '{name}' are not known",
            where=where,
            allowed=", ".join(CASE_TYPES),
            fix="upgrade scedit",
        )
    return name


def check_name(name: str, what: str = "split", *, where: str | None = None) -> str:
    """A name for something new, which can also be the name of a file.

    Raises:
        UserError: it holds anything but letters, digits, ``.``, ``-`` and ``_``, begins with a dot or a hyphen, or is
            a device of Windows (CON).

    Example:
        >>> check_name("scedit-cf_1.2")
        'scedit-cf_1.2'
    """
    if not _NAME.fullmatch(name) or ".." in name or _DEVICE.fullmatch(name):
        allowed = "letters, digits, '.', '-', '_', a letter or digit first, and no device of Windows such as CON"
        raise UserError(f"'{name}' cannot be the name of a {what}", where=where, allowed=allowed)
    return name


def check_header(header: Mapping[str, Any], where: str) -> None:
    """What a split's file says of itself: no name that is a path, and a sealed header as it was released.

    Names of before with a single ``/`` inside stay valid.

    Raises:
        DataError: name or version would lead out of a folder, or the header was edited after the release.
    """
    for field in ("split", "version"):
        value = header.get(field)
        parts = re.split(r"[/@]", value) if isinstance(value, str) else [""]
        if any(map(_leads_out, parts)) or re.search(r"[\\\x00-\x1f\x7f]", str(value)):
            raise DataError(
                f"the {field} {value!r} cannot be a name", where=where, allowed="letters, digits, '.', '-', '_'"
            )
    if SEAL in header and header[SEAL] != seal(header):
        raise DataError("the header was edited after the release", where=where, fix="get a whole copy")


def _leads_out(part: str) -> bool:
    """Whether a part of a name is another folder, an option of a command or a device."""
    return part in ("", ".", "..") or part.startswith("-") or bool(_DEVICE.fullmatch(part))


def seal(header: Mapping[str, Any]) -> str:
    """Digest of everything a header says, the digest of the cases included."""
    return digest([canonical_json({k: v for k, v in header.items() if k not in _UNSEALED})])


def file_name(name: str) -> str:
    """A split's name as part of a file's name.

    Example:
        >>> file_name("group/small")
        'group-small'
    """
    return re.sub(r"[/\\]", "-", name)


def no_case(name: str, counts: Mapping[str, int] | None = None) -> UserError:
    """The one sentence for a split without a case.

    Args:
        name: The split's name.
        counts: Edits looked at (``facts``, ``events`` or ``documents``), and how many items were left out for which
            reason, where that is known.
    """
    what = f"the split '{name}' would have no case"
    fix = "loosen its rule, or see why for one item: scedit split explain KEY"
    if counts is not None:
        kind = next((one for one in ("event", "document") if f"{one}s" in counts), "fact")
        reasons = sorted(
            ((n, why) for why, n in counts.items() if n and why not in ("cases", f"{kind}s")), reverse=True
        )
        reason_text = "; ".join(f"{why}: {n:,}" for n, why in reasons[:_REASONS])
        edits = f"{counted(counts.get(f'{kind}s', 0), kind)}{' to edit' if kind == 'fact' else ''} in the rule's scope"
        what += f" ({edits}{f'; {reason_text}' if reason_text else ''})"
        if any(": held by " in why for why in counts):
            fix = "have people or a model decide on what is held, or take it as it is: --set unsure=keep"
    return UserError(what, fix=fix)
