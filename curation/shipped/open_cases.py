"""The split ``open``: one compressed file, verified by its checksum when it is read, and its two parts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from curation.shipped import SHIPPED, verified_text
from curation.splits.split_file import Extras, Split, part_of, read_split
from schemas.cases import Case

PARTS = ("dev", "test")
FOLDER = SHIPPED / "open"


def open_path() -> Path:
    """The frozen split ``open``, compressed; ``checksums.sha256`` beside it has the SHA-256 of the split file in it."""
    return FOLDER / "open.jsonl.gz"


@lru_cache(maxsize=1)
def open_release() -> Split:
    """The split ``open``: 271 counterfactual and 92 temporal cases that anyone may evaluate on (version 0.10).

    Raises:
        DataError: the shipped file was changed.
    """
    path = open_path()
    return read_split(enumerate(verified_text(path).split("\n"), 1), path)


@lru_cache(maxsize=len(PARTS))
def open_part(name: str) -> Split:
    """``dev`` (for tuning) or ``test`` (for reporting) of the split ``open``; they share no relation and no subject."""
    return part_of_split(open_release(), name)


def part_of_split(whole: Split, name: str) -> Split:
    """One of the parts that a split's header lists, with the extras of its cases."""
    parts = whole.header["parts"]
    other_details = {key: value for key, value in parts.items() if key not in PARTS}
    people = {name: whole.header[name] for name in ("written_by", "judged_by") if name in whole.header}
    details = {"part_of": f"{whole.name}@{whole.version}", **people, **other_details}
    part = part_of(whole, f"{whole.name}-{name}", set(parts[name]), details=details)
    return part._replace(extras=Extras(whole.extras.of([case.fact.key for case in part.cases])))


def reserved_case(cases: Iterable[Case]) -> str | None:
    """The key of a case that ``open:test`` holds, or None: nothing may learn from one, under whatever name it comes."""
    ours = [case.key for case in cases if case.key.startswith("case/open/")]
    if not ours:
        return None
    reserved = set(open_release().header["parts"]["test"])
    return next((key for key in ours if key in reserved), None)
