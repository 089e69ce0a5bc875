"""What a loader is and what it returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import ValidationError

from curation.loaders.reading import Problem, Row, rows
from curation.loaders.shapes import JSON_TYPES
from curation.loaders.sources import OWN, Upstream
from curation.splits.contradictions import disagreement
from schemas.core.config import explain
from schemas.core.errors import DataError, one_line
from schemas.core.records import Record
from schemas.documents.document import Document
from schemas.documents.specificity import SpecificitySet
from schemas.events.event import Event
from schemas.facts import Entity, Fact, Source
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.control_tokens import control_token
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
]

_NAMED_PLACEHOLDER = re.compile(r"\{\w+\}")


class LocatedRecord(NamedTuple):
    """A record made of a file, and the place it came from. ``main``: one of the file's own edits, or sets."""

    where: str
    record: Record
    main: bool


class NeighbourFact(NamedTuple):
    """A fact that a row mentions beside its own: a neighbour, not to be edited."""

    fact: Fact


RowItem = Record | NeighbourFact | Problem
"""What one row of a file becomes."""


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


class FormatReader:
    """One published format, while one file of it is read. Subclasses say how a row becomes records.

    Attributes:
        path: The file.
        named: The file after whose name keys and relations are called, where records have none of their own: ``path``,
            but for a corrected file the one that its source came from first.
        stated: The source that the row states, where our own export in a published shape wrote one.
    """

    upstream: ClassVar[Upstream] = OWN

    def __init__(self, path: Path) -> None:
        self.path = self.named = path
        self.stated: Source | None = None
        self._notes: dict[tuple[str, str, str], tuple[int, str]] = {}

    def make(self, row: Row) -> Iterator[RowItem]:
        """Records of one row: the edit first. KeyError, ValueError, TypeError: a bad record."""
        raise NotImplementedError

    def source(self, item: object = None, *, date: str | None = None) -> Source:
        """The source of a row's records: the stated one, else the published data."""
        return self.stated or self.upstream.source(item, date=date)

    def note(self, reason: str, row: Row, *, kind: str = "left", of: str = "record") -> None:
        """Count what is said once for the whole file, as a problem of this kind; ``of``: what is counted."""
        number, first = self._notes.get((of, kind, reason), (0, row.where))
        self._notes[of, kind, reason] = (number + 1, first)

    def end(self) -> Iterator[RowItem]:
        """What is to be said when all rows are read: the notes."""
        for (of, kind, reason), (number, first) in sorted(self._notes.items(), key=lambda note: note[0][0]):
            yield Problem(str(self.path), kind, f"{counted(number, of)}: {reason} (first: {first})")


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
        items = list(self.stream(path, named))
        located = [item for item in items if isinstance(item, LocatedRecord)]
        edits = [item.record for item in located if item.main]
        return LoadResult(
            tuple(edit for edit in edits if isinstance(edit, Fact)),
            tuple(item for item in items if isinstance(item, Problem)),
            self.format,
            tuple(item.record for item in located if not item.main),
            {item.record.key: item.where for item in located if item.main},
            tuple(edit for edit in edits if isinstance(edit, Event)),
            tuple(edit for edit in edits if isinstance(edit, Document)),
            tuple(edit for edit in edits if isinstance(edit, SpecificitySet)),
        )

    def stream(self, path: Path, named: Path | None = None) -> Iterator[LocatedRecord | Problem]:
        """Records and problems in the file's order; memory holds one row, and a short entry for each fact seen.

        Args:
            path: The file.
            named: Another file's name for keys that are made of it.
        """
        reader, seen, count = self._shape(path), _SeenRecords(), 0
        reader.named = named or path
        for row in self._read(path):
            count += not (isinstance(row, Problem) and row.kind == "truncated")
            if isinstance(row, Problem):
                yield row
                continue
            made = _made(reader, row)
            yield from [made] if isinstance(made, Problem) else seen.placed(made, row.where)
        yield from seen.placed(reader.end(), str(path))
        known = reader.upstream.counts.get(path.name)
        if known is not None and known != count:
            gap = f"{abs(known - count):,} {'fewer' if count < known else 'more'} here"
            yield Problem(str(path), "count", f"{counted(count, 'record')}, upstream has {known:,} ({gap})")


def _made(reader: FormatReader, row: Row) -> list[RowItem] | Problem:
    """What a reader makes of a row, or why it cannot be used."""
    try:
        stated = row.data.get("source") if reader.upstream is not OWN else None
        ours = isinstance(stated, dict) and {"name", "licence"} <= stated.keys()
        reader.stated = Source.model_validate(stated) if ours else None
        row = row._replace(data={k: v for k, v in row.data.items() if k != "source" or not ours})
        return list(_checked(reader.make(row), row))
    except ValidationError as error:
        return row.problem("invalid", explain(error, types=JSON_TYPES))
    except InvalidRecord as error:
        return row.problem("invalid", str(error))
    except KeyError as error:
        return row.problem("malformed", f"the field '{error.args[0]}' is missing")
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raised = isinstance(error, ValueError) or type(reader).__module__.startswith("curation.")
        return row.problem("malformed", str(error) if raised else one_line(error))


def _checked(items: Iterable[RowItem], row: Row) -> Iterator[RowItem]:
    """The items of a row without invisible characters at the ends of texts; what no record may hold is refused."""
    whole = bool(row.data.get("key")) and isinstance(row.data.get("subject"), dict)  # of ours: texts mean what they say
    for item in items:
        if isinstance(item, Problem):
            yield item
            continue
        record = item.fact if isinstance(item, NeighbourFact) else item
        if isinstance(record, Fact) and not whole:
            record, fields = without_invisible_ends(record)
            if fields:
                yield row.problem("suspect", f"invisible characters at an end of {', '.join(fields)} were removed")
            # a second placeholder would be read as it stands; in a prompt that came filled in, braces are text
            if (other := _NAMED_PLACEHOLDER.search(record.prompt)) and record.prompt in _texts_of(row.data):
                what = f"the prompt has the placeholder {other[0]} beside {{}}, the subject's"
                raise InvalidRecord(f"{what}: {record.prompt}; fill it in, or leave it out")
        check_record(record)
        yield NeighbourFact(record) if isinstance(item, NeighbourFact) and isinstance(record, Fact) else record


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_of(inner)


class _SeenRecords:
    """What a file brought so far: keys with their content, and what its facts say of each subject and relation."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], str] = {}
        self._truth: dict[tuple[str, str], tuple[str, tuple[str, str | None]]] = {}

    def placed(self, items: Iterable[RowItem], where: str) -> Iterator[LocatedRecord | Problem]:
        """The new records of a place, and what is wrong with others; what hangs on an edit goes with it."""
        dropped = False
        for item in items:
            if isinstance(item, Problem):
                yield item
                continue
            if dropped:
                continue
            main = isinstance(item, Fact | Event | Document | SpecificitySet)
            record = item.fact if isinstance(item, NeighbourFact) else item
            kept, problems = self._enter(record, main=main)
            for kind, what in problems:
                yield Problem(where, kind, what)
            if kept:
                yield LocatedRecord(where, record, main)
            dropped = main and not kept

    def _enter(self, record: Record, *, main: bool) -> tuple[bool, list[tuple[str, str]]]:
        """Whether a record is to be kept, and the kind and text of what is wrong with it."""
        name = (record.kind, record.key)
        if (before := self._seen.get(name)) is not None:
            same = "" if before == record.id else ", with other content"
            if main:
                return False, [("duplicate", f"the key '{record.key}' stands twice{same}")]
            what = f"'{record.key}' was described otherwise before; the first description stays"
            return False, [("contradictory", what)] if same else []
        self._seen[name] = record.id
        if not main or not isinstance(record, Fact):
            return True, []
        here = (record.old.text, record.new.text if record.new else None)
        pair = (record.subject.text.casefold(), record.relation.id)
        key, earlier = self._truth.setdefault(pair, (record.key, here))
        what = "" if record.change == "temporal" else disagreement(f"'{key}'", earlier, here)
        return True, [("contradictory", what)] if what else []


_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
INVISIBLE = re.compile("^[\\s\u00ad\u200b-\u200f\u2060\ufeff]+|[\\s\u00ad\u200b-\u200f\u2060\ufeff]+$")


class InvalidRecord(ValueError):
    """A record that is well formed and says something that cannot be."""


def check_record(record: Record) -> None:
    """Refuse what no record may hold.

    Raises:
        InvalidRecord: says what.
    """
    texts = _texts(record)
    if control_token("\n".join([text for _, text in texts])):  # one search, since nearly all records have none
        for name, text in texts:
            if token := control_token(text):
                raise InvalidRecord(f"{name}: the control token {token} of language models stands in {text!r}")
    if not isinstance(record, Fact):
        return
    if record.changed_on is not None and not is_date(record.changed_on):
        raise InvalidRecord(f"changed_on: {record.changed_on!r} is no date such as 2021, 2021-12 or 2021-12-08")
    if record.new is None or not (record.old.aliases or record.new.aliases):  # a fact never has equal texts
        return
    old, new = _folded(record.old), _folded(record.new)
    if record.new.text.casefold() in old:
        raise InvalidRecord(f"the new object {record.new.text!r} is among the old one's names: nothing would be edited")
    if record.old.text.casefold() in new:
        raise InvalidRecord(f"the old object {record.old.text!r} is among the new one's names: nothing would be edited")


def is_date(text: str) -> bool:
    """Whether a text is a day, month or year of the calendar in ISO form.

    Example:
        >>> is_date("2021"), is_date("2021-12-08"), is_date("2021-13-45"), is_date("in 2021")
        (True, True, False, False)
    """
    if not (match := _DATE.fullmatch(text)):
        return False
    try:
        date(int(match[1]) or 1, int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return False
    return True


def without_invisible_ends(fact: Fact) -> tuple[Fact, list[str]]:
    """A fact whose texts neither begin nor end with an invisible character, and the fields that did.

    Example:
        >>> from schemas.facts import Object, Relation, Source
        >>> fact = Fact(key="f/1", subject=Entity(text="Peru"), relation=Relation(id="P36"), old=Object(text="Lima"),
        ...             prompt="The capital of {} is", new=Object(text="Oslo\u200b"),
        ...             source=Source(name="tests", licence="CC0"))
        >>> clean, fields = without_invisible_ends(fact)
        >>> clean.new.text, fields
        ('Oslo', ['new'])
    """
    update: dict[str, object] = {}
    if "".join([*(text for _, text in _texts(fact)), *fact.neighbour_prompts]).isascii():
        return fact, []
    for name in ("subject", "old", "new"):
        entity = getattr(fact, name)
        if entity is not None and any(INVISIBLE.search(text) for text in entity.names):
            names = [text for one in entity.names if (text := INVISIBLE.sub("", one))]
            if not names:
                raise InvalidRecord(f"{name}: holds invisible characters only")
            update[name] = entity.model_copy(update={"text": names[0], "aliases": tuple(names[1:])})
    if INVISIBLE.search(fact.prompt):
        update["prompt"] = INVISIBLE.sub("", fact.prompt)
    for name in ("paraphrases", "neighbour_prompts"):
        texts = getattr(fact, name)
        if any(map(INVISIBLE.search, texts)):
            update[name] = tuple(text for one in texts if (text := INVISIBLE.sub("", one)))
    return (fact.model_copy(update=update) if update else fact), list(update)


def _texts(record: Record) -> list[tuple[str, str]]:
    """The texts of a record that a model reads, with the names of their fields."""
    if isinstance(record, Fact):
        named = [(name, getattr(record, name)) for name in ("subject", "old", "new")]
        texts = [(name, text) for name, entity in named if entity is not None for text in entity.names]
        return [*texts, ("prompt", record.prompt), *(("paraphrases", text) for text in record.paraphrases)]
    if isinstance(record, ScriptQuestion | ScriptPrompt):
        return [("text", record.text)]
    return [("steps", step) for step in record.steps] if isinstance(record, Script) else []


def _folded(entity: Entity) -> set[str]:
    return {name.casefold() for name in entity.names}
