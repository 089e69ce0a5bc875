"""What a loader is and what it returns, and the small tools loaders share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import ValidationError

from curation.loaders.fact_checks import InvalidRecord, check_record, without_invisible_ends
from curation.loaders.field_paths import explain_field, explain_invalid
from curation.loaders.fields import template
from curation.loaders.file_notes import FileNotes
from curation.loaders.reading import Problem, Row, rows
from curation.loaders.seen_records import SeenRecords
from curation.loaders.sources import OWN, Upstream
from schemas.core.decoding import line_of, why_not_utf8
from schemas.core.errors import DataError, UserError
from schemas.core.records import Record
from schemas.documents.document import Document
from schemas.documents.specificity import SpecificitySet
from schemas.events.event import Event
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from schemas.generated_scripts import GeneratedScript
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.text.counting import counted

__all__ = [
    "FormatReader",
    "InvalidRecord",
    "LoadResult",
    "Loader",
    "LocatedRecord",
    "NeighbourFact",
    "Problem",
    "Row",
    "RowItem",
    "read_text",
    "template",
]


class LocatedRecord(NamedTuple):
    """A record made of a file, and the place it came from. ``main``: one of the file's own edits, or sets."""

    where: str
    record: Record
    main: bool


class NeighbourFact(NamedTuple):
    """A fact that a row mentions beside its own: a neighbour, not to be edited."""

    fact: Fact


class LoadResult(NamedTuple):
    """What came out of a file.

    Attributes:
        facts: The file's facts.
        problems: What could not be read, contradicts itself, or is not there in the known number.
        format: Name in ``LOADERS``.
        records: What the file holds beside its facts: questions, prompts, neighbour facts and links, extras.
        places: Key of an edit to its place in the file.
        events: The file's events.
        documents: Its documents.
        sets: Sets of questions that a base model answers.
    """

    facts: tuple[Fact, ...]
    problems: tuple[Problem, ...]
    format: str
    records: tuple[Record, ...] = ()
    places: Mapping[str, str] = {}
    events: tuple[Event, ...] = ()
    documents: tuple[Document, ...] = ()
    sets: tuple[SpecificitySet, ...] = ()

    @property
    def edits(self) -> dict[str, int]:
        """How many edits (or sets of questions) of each kind the file holds, by what one of them is called."""
        held = {"fact": self.facts, "event": self.events, "document": self.documents, "specificity set": self.sets}
        return {noun: len(records) for noun, records in held.items() if records}

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
        if not self.edits:
            raise nothing_usable(lost)
        return self.facts


def nothing_usable(lost: Sequence[Problem]) -> DataError:
    """The error for a file without a usable record: why the first one cannot be used, and how many cannot."""
    if not lost:
        return DataError("no usable fact in the file", fix="see the formats: scedit data formats")
    first = lost[0]
    what = (
        f"no usable fact in the file: {counted(len(lost), 'record')} left out, the first as {first.kind}: {first.what}"
    )
    return DataError(what, where=first.where, fix="mend the file; list all of them: scedit data audit FILE")


_NAMED_PLACEHOLDER = re.compile(r"\{\w+\}")

RowItem = Record | NeighbourFact | Problem
"""What one row of a file becomes."""


class FormatReader:
    """One published shape, while one file of it is read. Subclasses say how a row becomes records.

    Attributes:
        path: The file.
        named: The file after whose name keys and relations are called, where records have none of their own: ``path``,
            but for a corrected file the one that its source came from first.
        note_kind: Kind of problem as which ``_tally``, what is said once for the file, is reported.
    """

    upstream: ClassVar[Upstream] = OWN
    note_kind: ClassVar[str] = "left"

    def __init__(self, path: Path) -> None:
        self.path = self.named = path
        self._tally = FileNotes()

    def make(self, row: Row) -> Iterator[RowItem]:
        """Records of one row: the edit first. KeyError, ValueError, TypeError: a bad record."""
        raise NotImplementedError

    def end(self) -> Iterator[Problem]:
        """What is to be said when all rows are read: the notes."""
        return self._tally.problems(str(self.path), self.note_kind)


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

    def __call__(self, path: Path, named: Path | None = None) -> LoadResult:
        """Everything in the file; ``named`` as for ``stream``."""
        facts: list[Fact] = []
        events: list[Event] = []
        documents: list[Document] = []
        beside: list[Record] = []
        problems: list[Problem] = []
        places: dict[str, str] = {}
        for item in self.stream(path, named):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            if item.main:
                places[item.record.key] = item.where
            if item.main and isinstance(item.record, Event):
                events.append(item.record)
            elif item.main and isinstance(item.record, Fact):
                facts.append(item.record)
            elif item.main and isinstance(item.record, Document):
                documents.append(item.record)
            else:
                beside.append(item.record)
        more = (tuple(beside), places, tuple(events), tuple(documents))
        return LoadResult(tuple(facts), tuple(problems), self.format, *more)

    def stream(self, path: Path, named: Path | None = None) -> Iterator[LocatedRecord | Problem]:
        """Records and problems in the file's order; memory holds one row, and a short entry for each fact seen.

        Args:
            path: The file.
            named: Another file's name for keys that are made of it.
        """

        def reader() -> FormatReader:
            format_reader = self._shape(path)
            format_reader.named = named or path
            return format_reader

        shape, ledger, count = reader(), SeenRecords(), 0
        for row in self._read(path):
            count += 1
            if isinstance(row, Problem):
                count -= row.kind == "truncated"
                yield row
                continue
            yield from _of_row(row, shape, ledger, reader)
        yield from shape.end()
        known = shape.upstream.counts.get(path.name)
        if known is not None and known != count:
            gap = f"{abs(known - count):,} {'fewer' if count < known else 'more'} here"
            yield Problem(str(path), "count", f"{counted(count, 'record')}, upstream has {known:,} ({gap})")


def _of_row(
    row: Row, shape: FormatReader, ledger: SeenRecords, fresh: Callable[[], FormatReader]
) -> Iterator[LocatedRecord | Problem]:
    try:
        items = list(_checked(shape.make(row), row))
    except ValidationError as error:
        yield row.problem("invalid", explain_invalid(error, row, fresh().make))
        return
    except InvalidRecord as error:
        yield row.problem("invalid", str(error))
        return
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        yield row.problem("malformed", explain_field(error, row, fresh().make))
        return
    dropped = False
    renamed: dict[str, str] = {}
    record: Record
    for item in items:
        if isinstance(item, Problem):
            yield item
            continue
        if dropped:  # what hangs on a fact goes with it
            continue
        main = isinstance(item, Fact | Event | Document)
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


def _is_whole(row: Row) -> bool:
    """Whether a row is a whole record of ours, whose texts mean what they say."""
    return bool(row.data.get("key")) and isinstance(row.data.get("subject"), dict)


def _checked(items: Iterable[RowItem], row: Row) -> Iterator[RowItem]:
    """The items of a row without invisible characters at the ends of texts; what no record may hold is refused."""
    whole = _is_whole(row)
    for item in items:
        made = item
        if isinstance(item, Problem):
            yield item
            continue
        record = item.fact if isinstance(item, NeighbourFact) else item
        if isinstance(record, Fact) and not whole:
            record, fields = without_invisible_ends(record)
            made = NeighbourFact(record) if isinstance(item, NeighbourFact) else record
            if fields:
                yield row.problem("suspect", f"invisible characters at an end of {', '.join(fields)} were removed")
            _check_placeholder(record, row)
        check_record(record)
        yield made


def _check_placeholder(fact: Fact, row: Row) -> None:
    """Refuse a template with a second placeholder: its words would be read as they stand.

    In a prompt that came filled in, braces are part of the text.
    """
    if (other := _NAMED_PLACEHOLDER.search(fact.prompt)) and fact.prompt in _texts_of(row.data):
        what = f"the prompt has the placeholder {other[0]} beside {{}}, the subject's"
        raise InvalidRecord(f"{what}: {fact.prompt}; fill it in, or leave it out")


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_of(inner)


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
        raise DataError(why_not_utf8(error), where=f"{path}, line {line_of(error)}") from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if not text.strip():
        raise DataError("the file is empty", where=str(path), fix="see the formats: scedit data formats")
    return text
