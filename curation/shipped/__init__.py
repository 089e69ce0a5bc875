"""Data that we ship, written by us (CC0): facts, splits, a corpus, labelled leaks and scripts, tables of names."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.splits.split_file import Extras, Split, load_split, part_of, read_split
from schemas.cases import Case
from schemas.core.config import read_toml
from schemas.core.errors import DataError, UserError

SHIPPED = Path(__file__).parent
"""The folder of what comes with the program; ``docs/data.md`` says what each file is."""

SPLITS = ("mini", "open", "open:dev", "open:test", "events", "documents", "hops")
"""Names of the frozen splits that come with the program."""
_REPEAT = (
    "To make it or read it again: facts, all replies of the models and all readings are in `benchmarks/open/sources` "
    "of the toolkit's repository. `python -m benchmarks.open.build FOLDER` makes the same bytes from them; "
    "`python -m benchmarks.open.reading` writes sheets for another blind reading and scores them."
)
_AGAIN = "install the package again: nothing may be evaluated on a changed copy"
PARTS = ("dev", "test")
"""Parts of the split ``open``."""
MINI_CASES = 4
"""Cases of each relation of ``open:dev`` that ``mini`` has."""
FOLDER = SHIPPED / "open"
SHIPPED_NAMES = ", ".join(SPLITS)


def facts_path() -> Path:
    """The facts file: counterfactual and temporal facts with aliases, paraphrases and Wikidata property ids."""
    return SHIPPED / "facts.jsonl"


def config_path(path: Path) -> Path:
    """The file that a command means: the one of that name, or ours for ``configs/...`` where there is none.

    So ``configs/mini.toml`` and ``configs/rules/scedit.toml``, as the documentation writes them, work in any folder.
    """
    if path.parts[:1] != ("configs",) or ".." in path.parts or path.exists():
        return path
    ours = SHIPPED / path
    return ours if ours.is_file() else path


def read_config(path: Path) -> dict[str, Any]:
    """A TOML configuration of the user's, or ours of that name, as a dictionary.

    Raises:
        UserError: there is none, or it cannot be read.
        DataError: it is no TOML.
    """
    return read_toml(config_path(path))


_FILES = {
    "events": "events/events.jsonl",
    "documents": "documents/documents.jsonl",
    "hops": "hops/hops.jsonl",
    "demonstrations": "demonstrations/demonstrations.jsonl",
    "open": "open/open.jsonl.gz",
}
"""Files of the splits by name; ``open`` is compressed.

Events: sixteen events of eight templates and
eight tendency events. Documents: twelve documents about invented things, twelve that change known ones. Hops: forty
edits of one fact, each with a question and a script of one hop. Demonstrations: twelve cases to learn from.
"""


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


@lru_cache(maxsize=len(_FILES))
def _whole_split(name: str) -> Split:
    """A split as its file holds it; where a list of checksums lies beside the file, it is what was released.

    Raises:
        DataError: the shipped file was changed.
    """
    path = SHIPPED / _FILES[name]
    if not path.with_name("checksums.sha256").is_file():
        return load_split(path)
    return read_split(enumerate(verified_text(path).split("\n"), 1), path)


def demonstrations_split() -> Split:
    """Twelve hand-written cases with two scripts each, for demonstrations and as a part of ``support = "shipped"``."""
    return _whole_split("demonstrations")


@lru_cache(maxsize=1)
def mini_split() -> Split:
    """The first cases of each relation of ``open:dev``: 20 counterfactual and 24 temporal ones."""
    relations: Counter[str] = Counter()
    keys = set()
    for case in shipped_split("open:dev").cases:
        relations[case.fact.relation.id] += 1
        if relations[case.fact.relation.id] <= MINI_CASES:
            keys.add(case.key)
    return _part(_whole_split("open"), "mini", keys)


def part_of_split(whole: Split, name: str) -> Split:
    """One of the parts that a split's header lists, with the extras of its cases."""
    return _part(whole, f"{whole.name}-{name}", set(whole.header["parts"][name]))


def _part(whole: Split, name: str, keys: set[str]) -> Split:
    """Some cases of a split under a name, with what its header says of the parts and of the people."""
    other_details = {key: value for key, value in whole.header["parts"].items() if key not in PARTS}
    people: dict[str, Any] = {who: whole.header[who] for who in ("written_by", "judged_by") if who in whole.header}
    part = part_of(whole, name, keys, details={"part_of": f"{whole.name}@{whole.version}", **people, **other_details})
    return part._replace(extras=Extras(whole.extras.of([case.fact.key for case in part.cases])))


def reserved_case(cases: Iterable[Case]) -> str | None:
    """The key of a case that ``open:test`` holds, or None: nothing may learn from one, under whatever name it comes."""
    ours = [case.key for case in cases if case.key.startswith("case/open/")]
    if not ours:
        return None
    reserved = set(_whole_split("open").header["parts"]["test"])
    return next((key for key in ours if key in reserved), None)


def how_to_repeat(split: Split) -> str:
    """How ``open`` or a part of it, as it ships, is made and read again; empty for other splits."""
    name = split.name.replace("-", ":")
    ours = name in ("mini", "open", *(f"open:{part}" for part in PARTS))
    return _REPEAT if ours and split.digest == shipped_split(name).digest else ""


@lru_cache(maxsize=len(SPLITS))
def shipped_split(name: str) -> Split:
    """The split that comes with the program under a name of ``SPLITS``.

    ``open:dev`` (for tuning) and ``open:test`` (for reporting) share no relation and no subject.

    Raises:
        UserError: there is none of that name.
        DataError: the shipped file was changed.

    Example:
        >>> shipped_split("open:dev").name, len(shipped_split("open").cases)
        ('open-dev', 419)
    """
    if name not in SPLITS:
        raise UserError(f"no split '{name}' comes with the program", allowed=SHIPPED_NAMES)
    if name == "mini":
        return mini_split()
    whole, _, part = name.partition(":")
    return part_of_split(_whole_split(whole), part) if part else _whole_split(whole)


def named_split(name: str, *, allowed: str = f"a file, or {SHIPPED_NAMES}") -> Split:
    """The split that a command line names: a shipped one, or a frozen split file.

    Args:
        name: Name or file.
        allowed: What the error says, where a command takes more.

    Raises:
        UserError: neither of that name.
        DataError: as ``curation.splits.split_file.load_split``.

    Example:
        >>> named_split("mini").name
        'mini'
    """
    if name in SPLITS:
        return shipped_split(name)
    if Path(name).is_dir() or not Path(name).exists():
        raise UserError("there is no such split file", where=name, allowed=allowed)
    return load_split(name)
