"""Facts and whole splits into the store, with the lineage that says where they came from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from curation.files.disk_map import DiskMap
from curation.loaders import LocatedRecord, Problem, stream
from curation.splits.split_file import Split
from curation.store.store import PutResult, Store
from schemas.core.clock import now
from schemas.core.errors import DataError
from schemas.core.records import Record
from schemas.lineage import Lineage

if TYPE_CHECKING:
    from curation.loaders.formats.custom_table import TableMapping

SHOWN = 10  # problems that are told one by one


class FileImport(NamedTuple):
    """What an import did. ``shown`` are its first problems; ``problems`` counts all of them."""

    put: PutResult
    facts: int
    problems: int
    shown: tuple[Problem, ...]
    format: str


def import_file(
    source: str,
    path: Path,
    *,
    format: str | None = None,
    mapping: TableMapping | None = None,
    skip_bad: bool = False,
    limit: int | None = None,
) -> FileImport:
    """Read a file into a store (made if need be), record by record, in one transaction: all of it or nothing.

    Args:
        source: A file, or ``shipped``.
        path: The store.
        format: A name in ``LOADERS``; found from the file when left out.
        mapping: For a foreign table: which column is what.
        skip_bad: Leave out what cannot be used, instead of stopping.
        limit: Take so many facts, and nothing else.

    Raises:
        DataError: a record that cannot be used (unless ``skip_bad``), or no fact at all.
    """
    reading = stream(source, format, mapping=mapping)
    told = _ProblemLog(skip_bad=skip_bad, limit=limit)
    made_at = now()
    first = next(records := told.records(reading.items), None)  # before a store is made: a bad file makes none
    rest = itertools.chain([] if first is None else [first], records)
    pairs = ((r, Lineage(item_id=r.id, stage="load", made_at=made_at, detail={"from": source})) for r in rest)
    with Store.open(path, create=True) as store:
        put = store.put_each(pairs)
    return FileImport(put, told.facts, told.problems, tuple(told.shown), reading.format)


class _ProblemLog:
    """Passes records on and remembers what was wrong."""

    def __init__(self, *, skip_bad: bool, limit: int | None) -> None:
        self._skip_bad, self._limit = skip_bad, limit
        self.facts = self.problems = 0
        self.shown: list[Problem] = []

    def records(self, items: Iterator[LocatedRecord | Problem]) -> Iterator[Record]:
        """The records; raises at the first one that cannot be used, and at the end where there was no fact."""
        for item in items:
            if isinstance(item, Problem):
                self._problem(item)
            elif item.main or self._limit is None:
                self.facts += item.main
                yield item.record
                if self.facts == self._limit:
                    return
        if not self.facts:
            raise DataError("no usable fact in the file", fix="see the formats: scedit data formats")

    def _problem(self, problem: Problem) -> None:
        if problem.lost and not self._skip_bad:
            raise DataError(
                f"{problem.kind} record: {problem.what}",
                where=problem.where,
                fix="mend the file, or leave bad records out with --skip-bad; all of them: scedit data audit FILE",
            )
        self.problems += 1
        if len(self.shown) < SHOWN:
            self.shown.append(problem)


def import_split(split: Split, path: Path, *, origin: str) -> PutResult:
    """Put a frozen split and every record inside its cases into a store (made if need be)."""
    made_at = now()
    seen = DiskMap()
    records = (r for r in split_records(split) if seen.add(int(r.id[:15], 16)))  # a neighbour can be in many cases
    pairs = ((r, Lineage(item_id=r.id, stage="import", made_at=made_at, detail={"from": origin})) for r in records)
    with Store.open(path, create=True) as store:
        put = store.put_each(pairs)
        store.put_split(split)
    return put


def split_records(split: Split) -> Iterator[Record]:
    """Every fact, question, prompt and neighbour link inside a split's cases, and its extras."""
    for case in split.cases:
        yield case.fact
        yield from case.questions
        yield from case.prompts
        for neighbour in case.neighbours:
            yield neighbour.link
            yield neighbour.fact
            yield from neighbour.questions
            yield from neighbour.prompts
    yield from split.extras
