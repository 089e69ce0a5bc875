"""Facts and whole splits into the store, with the lineage that says where they came from."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from curation.files.artifact_cache import sha256
from curation.loaders import LoadResult, LocatedRecord, Problem, load, stream
from curation.loaders.base import nothing_usable
from curation.loaders.reading import opened_text
from curation.splits.split_file import CaseStream, Extras, RunningDigest, Split, header_of
from curation.splits.visible_texts import case_records
from curation.store.import_sources import EARLIER, MADE_HERE, ImportSource, SourceUpdate
from curation.store.origins import MADE_FROM
from curation.store.store import Store
from curation.store.writer import chunks
from schemas.cases import Case, CaseNeighbour, DocumentCase, EventCase
from schemas.core.clock import now
from schemas.core.errors import DataError, UserError
from schemas.core.ids import canonical_json, digest
from schemas.core.records import Record
from schemas.facts import Fact, Source
from schemas.lineage import Lineage

if TYPE_CHECKING:
    from curation.loaders.formats.native import TableMapping


UNSTATED = "not stated"
"""Licence of a fact whose file states no source; the source is then called after the file."""
SHOWN = 10  # problems that are told one by one


class Identity(NamedTuple):
    """As what a file or a split is known to a store, and what becomes of keys that others use.

    Attributes:
        source: Name of the source; made of the file's name and digest where it is None. The same name again replaces
            all that it brought before.
        replace: Take the place of other sources' records with the same keys.
        prefix: Put this name before all keys, so that both versions are kept; also the source's name if none is given.
        option: The option of the command that names the source.
        shrink: More than a tenth of what the source brought before may be gone.
    """

    source: str | None = None
    replace: bool = False
    prefix: str | None = None
    option: str = "--source"
    shrink: bool = True

    def of(self, file: str, content: str) -> ImportSource:
        """The source for a file of this content.

        Raises:
            UserError: the name cannot be one.
        """
        name = self.prefix if self.source is None else self.source
        whole = digest([content, self.prefix or ""])
        if name is None:
            return ImportSource(f"{Path(file).name or file}#{whole[:12]}", file, whole, False, self.option)
        if not re.fullmatch(r"[^\s'](?:[^\n\r\t']{0,198}[^\s'])?", name) or name in (EARLIER, MADE_HERE):
            raise UserError(f"'{name}' cannot be the name of a source", allowed="up to 200 characters of one line")
        return ImportSource(name, file, whole, True, self.option)


UNNAMED = Identity()
"""A file that is known by its name and digest."""


@dataclass
class FileImport:
    """What an import did, counted while the records pass.

    Attributes:
        format: As which the file was read.
        facts: The edits, which are what ``noun`` says: facts, events, documents.
        problems: What was wrong; ``shown`` are the first, ``lost`` those for which a record was left out.
        update: What changed in the store.
    """

    format: str
    facts: int = 0
    problems: int = 0
    noun: str = "fact"
    shown: list[Problem] = field(default_factory=list)
    lost: list[Problem] = field(default_factory=list)
    update: SourceUpdate = field(init=False)

    def records(
        self, items: Iterator[LocatedRecord | Problem], *, skip_bad: bool, limit: int | None
    ) -> Iterator[Record]:
        """The records; raises at the first one that cannot be used, and at the end where none came."""
        came = 0
        for item in items:
            if isinstance(item, Problem):
                if item.lost and not skip_bad:
                    fix = "mend the file, or leave bad records out with --skip-bad; all of them: scedit data audit FILE"
                    raise DataError(f"{item.kind} record: {item.what}", where=item.where, fix=fix)
                self.note(item)
            elif item.main or limit is None:
                came += 1
                self.facts += item.main
                if item.main:
                    self.noun = item.record.kind.replace("_", " ")
                yield item.record
                if self.facts == limit:
                    return
        if not came:
            raise nothing_usable(self.lost)

    def note(self, problem: Problem) -> None:
        """Count a problem, and keep it where it is one of the first."""
        self.problems += 1
        if problem.lost:
            self.lost.append(problem)
        if len(self.shown) < SHOWN:
            self.shown.append(problem)


def import_file(
    source: str,
    path: Path | str,
    *,
    format: str | None = None,
    mapping: TableMapping | None = None,
    skip_bad: bool = False,
    limit: int | None = None,
    identity: Identity = UNNAMED,
) -> FileImport:
    """Read a file into a store (made if need be), record by record, in one transaction: all of it or nothing.

    Args:
        source: A file, or ``shipped``.
        path: The store.
        format: A name in ``LOADERS``; found from the file when left out.
        mapping: For a foreign table: which column is what.
        skip_bad: Leave out what cannot be used, instead of stopping.
        limit: Take so many facts, and nothing else.
        identity: As what the file is known to the store.

    Raises:
        DataError: a record that cannot be used (unless ``skip_bad``), or no record at all.
        ConflictError: keys that another source uses for other content.
    """
    path = Path(path)
    reading = stream(source, format, mapping=mapping)
    known = identity.of(source, _content(source, reading.format, mapping))
    named = _first_file(path, known)
    if named is not None:
        reading = stream(source, reading.format, mapping=mapping, named=named)
    done = FileImport(reading.format)
    made_at = now()
    records = done.records(reading.items, skip_bad=skip_bad, limit=limit)
    first = next(records, None)  # before a store is made: a bad file makes none
    rest: Iterable[Record] = itertools.chain([] if first is None else [first], records)
    if (prefix := identity.prefix) is not None:
        check_prefix(prefix)
        rest = (with_prefix(record, prefix) for record in rest)
    act = Lineage(item_id="", stage="load", made_at=made_at, detail={"from": source})
    with Store.open(path, create=True) as store:
        rest = with_stored_sources(store, rest, (named or Path(source)).name)
        done.update = store.put_source(
            known, rest, act, replace=identity.replace, whole=limit is None, shrink=identity.shrink
        )
        for key, text in store.arrived_contradictions():
            done.note(Problem(f"{source}, {key}", "contradictory", text))
    return done


def load_as_known(source: str, path: Path, format: str | None = None) -> LoadResult:
    """``load`` with the keys and sources that ``import_file`` would give the records in a store.

    Args:
        source: A file, or ``shipped``.
        path: The store; it may be absent.
        format: A name in ``LOADERS``; found from the file when left out.
    """
    loaded = load(source, format)
    known = UNNAMED.of(source, _content(source, loaded.format, None))
    named = _first_file(path, known)
    if named is not None:
        loaded = load(source, loaded.format, named=named)
    if not path.exists():
        return loaded
    with Store.open(path) as store:
        facts = [
            f for f in with_stored_sources(store, loaded.facts, (named or Path(source)).name) if isinstance(f, Fact)
        ]
    return loaded._replace(facts=tuple(facts))


def import_facts(source: str, path: Path, facts: Iterable[Fact], *, format: str, whole: bool) -> SourceUpdate:
    """Put the facts of a file into a store (made if need be) as ``import_file`` does; its other records stay out.

    Args:
        source: The file, or ``shipped``.
        path: The store.
        facts: As ``load_as_known`` brings them.
        format: The format that the file was read as.
        whole: These are all facts of the file: of the source's facts, what does not come is gone.

    Raises:
        ConflictError: keys that another source uses for other content.
    """
    known = UNNAMED.of(source, _content(source, format, None))
    act = Lineage(item_id="", stage="load", made_at=now(), detail={"from": source})
    with Store.open(path, create=True) as store:
        return store.put_source(known, facts, act, whole=whole, kind="fact")


def with_stored_sources(store: Store, records: Iterable[Record], file: str) -> Iterator[Record]:
    """Records in which a fact whose source is only the file's name has the source that the store has for its key.

    The name of a file is no content: the same facts in a renamed file are the same facts.
    """
    if not store.has("fact"):
        yield from records
        return
    for chunk in chunks(records):
        unnamed = [r.key for r in chunk if isinstance(r, Fact) and r.source == Source(name=file, licence=UNSTATED)]
        stored = {f.key: f.source for f in store.by_keys(Fact, unnamed) if f.source.licence == UNSTATED}
        yield from (r.model_copy(update={"source": stored[r.key]}) if r.key in stored else r for r in chunk)


def _first_file(path: Path, known: ImportSource) -> Path | None:
    """The file after whose name the store has the source's keys, where it knows the source and keys are so made."""
    if not path.exists() or not Path(known.file).is_file():
        return None
    with Store.open(path) as store:
        file = Path(store.first_file(known) or "")
    return file if file.suffix.lower() in (".csv", ".tsv", ".json", ".jsonl") else None


def _content(source: str, format: str, mapping: TableMapping | None) -> str:
    """What a file holds and how it was read, as one digest: another mapping makes other records."""
    if source == "shipped":
        from curation.shipped import SHIPPED

        return sha256(SHIPPED / "facts.jsonl")
    with opened_text(Path(source)):
        content = sha256(Path(source))
    return digest([content, format, canonical_json(mapping.model_dump(mode="json") if mapping else {})])


def import_split(split: Split, path: Path, *, origin: str, identity: Identity = UNNAMED) -> SourceUpdate:
    """Put a frozen split and every record inside its cases into a store (made if need be), all or nothing.

    Args:
        split: The split.
        path: The store.
        origin: Where it comes from, for the lineage.
        identity: As what it is known to the store; with a prefix it becomes a split of its own, called after it.

    Raises:
        ConflictError: keys that another source uses for other content.
        StoreError: the name and version are taken by another split.
    """
    if identity.prefix is not None:
        split = split_with_prefix(split, check_prefix(identity.prefix))
    made_at = now()
    records = split_records(split)
    act = Lineage(item_id="", stage="import", made_at=made_at, detail={"from": origin})
    known = identity.of(f"{split.name}@{split.version}", split.digest)
    with Store.open(path, create=True) as store:
        return store.put_source(known, records, act, replace=identity.replace, shrink=identity.shrink, split=split)


def split_records(split: Split) -> Iterator[Record]:
    """Every record inside a split's cases once (a neighbour can be in many), and its extras."""
    seen = set[str]()
    records = itertools.chain.from_iterable(map(case_records, split.all_cases))
    for record in itertools.chain(records, split.extras):
        if record.id not in seen:
            seen.add(record.id)
            yield record


R = TypeVar("R", bound=Record)


def check_prefix(name: str) -> str:
    """A name that can stand before keys.

    Raises:
        UserError: it has other characters than letters, digits, ``.``, ``-`` and ``_``.

    Example:
        >>> check_prefix("second-file")
        'second-file'
    """
    if not re.fullmatch(r"[\w-][\w.-]{0,99}", name):
        raise UserError(f"'{name}' cannot stand before keys", allowed="letters, digits, '.', '-' and '_'", where="--as")
    return name


def with_prefix(record: R, prefix: str) -> R:
    """The record with ``prefix/`` before its key and before every key that it names.

    Raises:
        UserError: a verdict, rating, run or the like, which belongs to one content and cannot be moved.

    Example:
        >>> from schemas.scripts import ScriptQuestion
        >>> moved = with_prefix(ScriptQuestion(key="f/1/q", fact="f/1", text="How?"), "b")
        >>> moved.key, moved.fact
        ('b/f/1/q', 'b/f/1')
    """
    fields = {field for _, field in MADE_FROM.get(record.kind, ())}
    if "item_id" in fields or record.kind == "run":
        raise UserError(
            f"a {record.kind} belongs to one content and cannot be imported under another key",
            where=record.key,
            fix="import into a store of its own",
        )
    is_case = isinstance(record, Case | EventCase | DocumentCase)
    named = (
        set(type(record).model_fields) if is_case else fields | {"key", "depends_on"} & set(type(record).model_fields)
    )
    moved = {name: _moved(getattr(record, name), prefix) for name in named}
    key = {"key": f"case/{prefix}/{record.key.removeprefix('case/')}"} if is_case else {}
    return record.model_copy(update=moved | key)


def split_with_prefix(split: Split, prefix: str) -> Split:
    """A split of the same cases under keys of their own; it is called after the prefix and says what it was made of.

    Rule, errata and counts speak of the former keys and stay with the original.
    """
    running = RunningDigest()
    for case in split.all_cases:
        moved = with_prefix(case, prefix)
        running.add(moved.key, moved.canonical())
    made_of = {"split": split.name, "version": split.version, "digest": split.digest}
    header = header_of(prefix, split.version, running.cases, running.hexdigest(), {"made_of": made_of}, type=split.type)
    cases = CaseStream(running.cases, lambda: (with_prefix(case, prefix) for case in split.all_cases))
    extras = Extras(with_prefix(e, prefix) for e in split.extras)
    return Split(prefix, split.version, running.hexdigest(), cases, header, extras)


def _moved(value: Any, prefix: str) -> Any:
    """Keys, and records or parts of a case that hold keys, with the prefix before each key."""
    if isinstance(value, str):
        return f"{prefix}/{value}"
    if isinstance(value, tuple):
        return tuple(_moved(one, prefix) for one in value)
    if isinstance(value, CaseNeighbour):
        parts = {name: _moved(getattr(value, name), prefix) for name in CaseNeighbour.model_fields}
        return CaseNeighbour(**parts)
    return with_prefix(value, prefix) if isinstance(value, Record) else value
