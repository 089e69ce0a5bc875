"""What a loader is and what it returns, and the small tools loaders share."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import ValidationError

from curation.files.disk_map import DiskMap
from curation.loaders.fields import template
from curation.loaders.reading.json_array import array
from curation.loaders.reading.json_reader import rows
from curation.loaders.reading.raw_records import Problem, Row
from curation.loaders.sources import OWN, Upstream
from schemas.core.config import explain
from schemas.core.errors import DataError, UserError
from schemas.core.records import Record
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from schemas.generated_scripts import GeneratedScript
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.text.counting import counted

__all__ = [
    "FileNotes",
    "FormatReader",
    "Invalid",
    "LoadResult",
    "Loader",
    "LocatedRecord",
    "NeighbourFact",
    "Problem",
    "Row",
    "RowItem",
    "json_rows",
    "read_text",
    "template",
]


class LocatedRecord(NamedTuple):
    """A record made of a file, and the place it came from. ``main``: one of the file's own facts."""

    where: str
    record: Record
    main: bool


class NeighbourFact(NamedTuple):
    """A fact that a row mentions beside its own: a neighbour, not to be edited."""

    fact: Fact


class Invalid(ValueError):
    """A record that is well formed and says something that cannot be."""


class LoadResult(NamedTuple):
    """What came out of a file.

    Attributes:
        facts: The file's facts.
        problems: What could not be read, contradicts itself, or is not there in the known number.
        format: Name in ``LOADERS``.
        records: What the file holds beside its facts: questions, prompts, neighbour facts and links, extras.
        places: Key of a fact to its place in the file.
    """

    facts: tuple[Fact, ...]
    problems: tuple[Problem, ...]
    format: str
    records: tuple[Record, ...] = ()
    places: Mapping[str, str] = {}

    def require(self, *, skip_bad: bool = False) -> tuple[Fact, ...]:
        """The facts, if there are any and nothing is wrong.

        Args:
            skip_bad: Go on without the bad records.

        Raises:
            DataError: a record that cannot be used (unless ``skip_bad``), or no fact at all.
        """
        lost = [p for p in self.problems if p.lost]
        if lost and not skip_bad:
            first, more = lost[0], len(lost) - 1
            tail = f" ({counted(more, 'more problem')} in the file)" if more else ""
            raise DataError(
                f"{first.kind} {'file' if first.kind == 'truncated' else 'record'}: {first.what}{tail}",
                where=first.where,
                fix="get a whole copy or mend the file, or leave bad records out with --skip-bad",
            )
        if not self.facts:
            raise DataError("no usable fact in the file", fix="see the formats: scedit data formats")
        return self.facts


RowItem = Record | NeighbourFact | Problem
"""What one row of a file becomes."""


class FormatReader:
    """One published shape, while one file of it is read. Subclasses say how a row becomes records."""

    upstream: ClassVar[Upstream] = OWN

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self, row: Row) -> Iterator[RowItem]:
        """Records of one row: the fact first. KeyError, ValueError, TypeError: a bad record."""
        raise NotImplementedError

    def end(self) -> Iterator[Problem]:
        """What is to be said when all rows are read."""
        return iter(())


class Loader:
    """A loader: call it for everything in a file, or ``stream`` for one record at a time."""

    def __init__(
        self,
        format: str,
        shape: Callable[[Path], FormatReader],
        *,
        read: Callable[[Path], Iterator[Row | Problem]] = rows,
    ) -> None:
        self.format, self._shape, self._read = format, shape, read

    def __call__(self, path: Path) -> LoadResult:
        """Everything in the file."""
        facts: list[Fact] = []
        beside: list[Record] = []
        problems: list[Problem] = []
        places: dict[str, str] = {}
        for item in self.stream(path):
            if isinstance(item, Problem):
                problems.append(item)
            elif item.main:
                assert isinstance(item.record, Fact)
                facts.append(item.record)
                places[item.record.key] = item.where
            else:
                beside.append(item.record)
        return LoadResult(tuple(facts), tuple(problems), self.format, tuple(beside), places)

    def stream(self, path: Path) -> Iterator[LocatedRecord | Problem]:
        """Records and problems in the file's order; memory holds one row, and a short entry for each fact seen."""
        shape, ledger, count = self._shape(path), _Ledger(), 0
        for row in self._read(path):
            count += 1
            if isinstance(row, Problem):
                count -= row.kind == "truncated"
                yield row
                continue
            yield from _of_row(row, shape, ledger)
        yield from shape.end()
        known = shape.upstream.counts.get(path.name)
        if known is not None and known != count:
            how = f"{abs(known - count):,} {'fewer' if count < known else 'more'} here"
            yield Problem(str(path), "count", f"{counted(count, 'record')}, upstream has {known:,} ({how})")


def _of_row(row: Row, shape: FormatReader, ledger: _Ledger) -> Iterator[LocatedRecord | Problem]:
    try:
        made = list(shape.make(row))
    except KeyError as error:
        yield row.problem("malformed", f"the field {error} is missing")
        return
    except ValidationError as error:
        yield row.problem("invalid", explain(error))
        return
    except Invalid as error:
        yield row.problem("invalid", str(error))
        return
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        yield row.problem("malformed", str(error))
        return
    dropped = False
    renamed: dict[str, str] = {}
    record: Record
    for item in made:
        if isinstance(item, Problem):
            yield item
            continue
        if dropped:  # what hangs on a fact goes with it
            continue
        main = isinstance(item, Fact)
        if isinstance(item, NeighbourFact):
            beside, problem = ledger.neighbour(item.fact)
            record, renamed[item.fact.key] = beside, beside.key
            if problem is not None:
                yield row.problem(*problem)
        else:
            record = item if main or not renamed else _with_renamed_keys(item, renamed)
        problem, keep = ledger.enter(record, main=main)
        if problem is not None:
            yield row.problem(*problem)
        if keep:
            yield LocatedRecord(row.where, record, main)
        dropped = main and not keep


def _with_renamed_keys(record: Record, renamed: Mapping[str, str]) -> Record:
    """A record that names neighbour facts, with the keys that they were given here."""
    moved = {old: new for old, new in renamed.items() if old != new}
    update: dict[str, Any]
    if isinstance(record, Neighbour | ScriptQuestion | ScriptPrompt | GeneratedScript):
        named, update = {record.fact}, {"fact": moved.get(record.fact, record.fact)}
    elif isinstance(record, Extra):
        named = {record.subject_key, *record.depends_on}
        depends_on = tuple(moved.get(key, key) for key in record.depends_on)
        update = {"subject_key": moved.get(record.subject_key, record.subject_key), "depends_on": depends_on}
    else:
        return record
    if not (named := named & set(moved)):
        return record
    longest_first = "|".join(re.escape(key) for key in sorted(named, key=len, reverse=True))
    update["key"] = re.sub(f"~({longest_first})", lambda match: f"~{moved[match[1]]}", record.key)
    return record.model_copy(update=update)


class _Ledger:
    """What was seen: keys with their content, and what the facts say of each subject and relation.

    Names are kept as 64-bit hashes, in a temporary file where there are many.
    """

    def __init__(self) -> None:
        self._seen, self._truth = DiskMap(), DiskMap()

    def enter(self, record: Record, *, main: bool) -> tuple[tuple[str, str] | None, bool]:
        """(kind and text of a problem, or None; whether the record is to be kept)."""
        content, name = int(record.id[:15], 16), hash((record.kind, record.key))
        if (before := self._seen.first(name, content)) is not None:
            same = "" if before == content else ", with other content"
            if main:
                return ("duplicate", f"the key '{record.key}' stands twice{same}"), False
            what = f"'{record.key}' was described otherwise before; the first description stays"
            return (("contradictory", what) if same else None), False
        if main and isinstance(record, Fact):
            return self._true_statement(record), True
        return None, True

    def neighbour(self, fact: Fact) -> tuple[Fact, tuple[str, str] | None]:
        """A neighbour as it is to be kept: described otherwise than before under its key, it has a key of its own."""
        content, name = int(fact.id[:15], 16), hash((fact.kind, fact.key))
        if self._seen.get(name) in (None, content):
            return fact, None
        own = fact.model_copy(update={"key": f"{fact.key}~{fact.id[:6]}"})
        what = f"'{fact.key}' was described otherwise before; this description is kept as '{own.key}'"
        known = self._seen.get(hash((own.kind, own.key))) is not None
        return own, None if known else ("contradictory", what)

    def _true_statement(self, fact: Fact) -> tuple[str, str] | None:
        old, new = fact.old.text, fact.new.text if fact.new else ""
        pair = hash((fact.subject.text.casefold(), fact.relation.id))
        before = self._truth.first(pair, "\n".join((fact.key, old, new)))
        if before is None or fact.change == "temporal":
            return None
        key, said, edit = before.split("\n", 2)
        if said.casefold() != old.casefold():
            return "contradictory", f"'{key}' says '{said}' for this subject and relation, this one '{old}'"
        if edit and new and edit.casefold() != new.casefold():
            return "contradictory", f"'{key}' edits this subject and relation to '{edit}', this one to '{new}'"
        return None


class FileNotes:
    """Counts of what is said once for a whole file, with the first place of each.

    Example:
        >>> tally = FileNotes()
        >>> tally.add("have no old object", Row("f, line 3", {}))
        >>> next(tally.told("f")).what
        '1 record: have no old object (first: f, line 3)'
    """

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, reason: str, row: Row) -> None:
        """Count one more record."""
        self._count[reason] += 1
        self._first.setdefault(reason, row.where)

    def told(self, where: str, kind: str = "left") -> Iterator[Problem]:
        """One problem for each reason."""
        for reason, n in self._count.items():
            yield Problem(where, kind, f"{counted(n, 'record')}: {reason} (first: {self._first[reason]})")


def read_text(path: Path) -> str:
    """The file's text.

    Raises:
        UserError: absent or unreadable.
        DataError: empty or not UTF-8.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"not UTF-8 text (byte {error.start})", where=f"{path}, line {line}", fix="save it as UTF-8"
        ) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if not text.strip():
        raise DataError("the file is empty", where=str(path), fix="see the formats: scedit data formats")
    return text


def json_rows(text: str, path: Path) -> tuple[list[Row], list[Problem]]:
    """Records of a JSON array or of JSON lines that are in memory already, and what is no record."""
    if text.lstrip().startswith("["):
        items = list(array([text], path))
    else:
        items = []
        for number, line in enumerate(text.split("\n"), 1):
            where = f"{path}, line {number}"
            try:
                data = json.loads(line) if line.strip() else None
            except json.JSONDecodeError as error:
                items.append(Problem(where, "malformed", f"not valid JSON: {error.msg}, column {error.colno}"))
                continue
            if isinstance(data, dict):
                items.append(Row(where, data, number))
            elif line.strip():
                items.append(Problem(where, "malformed", f"an object is expected, not {type(data).__name__}"))
    return [i for i in items if isinstance(i, Row)], [i for i in items if isinstance(i, Problem)]
