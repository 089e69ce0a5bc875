"""The split ``open``: one compressed file, verified by its checksum when it is read, and its two parts."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from curation.splits.split_file import Extras, Split, part_of, read_split
from schemas.cases import Case
from schemas.core.errors import DataError

PARTS = ("dev", "test")
FOLDER = Path(__file__).parent / "open"
_AGAIN = "install the package again: nothing may be evaluated on a changed copy"


def open_path() -> Path:
    """The frozen split ``open``, compressed; ``checksums.sha256`` beside it has the SHA-256 of the split file in it."""
    return FOLDER / "open.jsonl.gz"


def verified_text(path: Path) -> str:
    """What a file of a release holds, compressed or not, once its SHA-256 is that of ``checksums.sha256`` beside it.

    Raises:
        DataError: the file or the list is missing, damaged or changed.
    """
    name = path.name.removesuffix(".gz")
    try:
        data = path.read_bytes() if path.suffix != ".gz" else gzip.decompress(path.read_bytes())
        lines = path.with_name("checksums.sha256").read_text(encoding="utf-8").splitlines()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"the shipped split cannot be read: {error}", where=str(path), fix=_AGAIN) from None
    listed = {parts[1]: parts[0] for parts in (line.split(maxsplit=1) for line in lines) if len(parts) == 2}
    sha256 = hashlib.sha256(data).hexdigest()
    if listed.get(name) != sha256:
        raise DataError(
            f"the shipped split was changed: its SHA-256 is {sha256[:12]}, the list says {str(listed.get(name))[:12]}",
            where=str(path),
            fix=_AGAIN,
        )
    return data.decode("utf-8")


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
