"""The curated store: one DuckDB file with every record, its lineage, every verdict, the splits and the results.

One process writes at a time, and DuckDB then refuses even readers; a second process is told who holds the
file. A file is looked at read-only before anything is written, so a damaged, foreign or newer one is refused untouched.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from curation.splits.split_file import RunningDigest, Split, header_of, no_case, one_type
from curation.store.connection import Connection, open_connection, transaction
from curation.store.import_sources import ImportSource, SourceUpdate, finish_import, known_name, make_tables
from curation.store.origins import StaleItem, retire_remade
from curation.store.reader import JSON_TEXTS, KINDS, StoreReader, columns_of
from curation.store.writer import PendingRows, PutResult, chunks, insert, put_rows
from schemas.cases import AnyCase
from schemas.core.errors import DataError, StoreError, UserError
from schemas.core.records import Record
from schemas.lineage import Lineage
from schemas.runs import CaseResult, RunManifest

__all__ = ["KINDS", "PutResult", "Store"]

log = logging.getLogger(__name__)


class Store(StoreReader, AbstractContextManager["Store"]):
    """A store, open for reading or writing; use as a context manager.

    Example:
        >>> import tempfile, pathlib
        >>> from schemas.facts import Entity, Fact, Object, Relation, Source
        >>> fact = Fact(key="f/1", subject=Entity(text="Peru"), relation=Relation(id="P36"), old=Object(text="Lima"),
        ...             prompt="The capital of {} is", new=Object(text="Oslo"), source=Source(name="me", licence="CC0"))
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "s.duckdb"
        >>> with Store.open(path, create=True) as store:
        ...     _ = store.put([fact])
        ...     store.get("f/1") == fact
        True
    """

    def __init__(self, db: Connection, path: Path, *, write: bool) -> None:
        self._db, self.path, self._write = db, path, write

    @classmethod
    def open(cls, path: Path | str, *, write: bool = False, create: bool = False) -> Store:
        """Open a store.

        Args:
            path: The DuckDB file.
            write: Take the writer's place.
            create: Make the file (and its folder) when it is absent; implies ``write``.

        Raises:
            StoreError: absent, locked, damaged, not a store, or written by a newer program.
        """
        path = Path(path)
        return cls(open_connection(path, write=write, create=create), path, write=write or create)

    def close(self) -> None:
        """Close the file; a writer's lock is given up, and reading on is refused."""
        self._db.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- writing ----------------------------------------------------------------------------------------------

    def put(
        self, records: Iterable[Record], lineage: Iterable[Lineage] = (), *, remade: Sequence[str] = ()
    ) -> PutResult:
        """Keep records and lineage in one transaction, in bounded memory; what is there already stays as it is.

        A record with a known key and new content becomes that key's current version; the earlier one is kept.

        Args:
            records: The records.
            lineage: How they came to be.
            remade: Keys of facts, events or documents for which all records are made anew: stale records that this
                program made of them before are no longer current.
        """
        with self._transaction():
            done = put_rows(self._db, records, lineage)
            retire_remade(self._db, remade)
            return done

    def put_source(
        self,
        source: ImportSource,
        records: Iterable[Record],
        act: Lineage,
        *,
        replace: bool = False,
        whole: bool = True,
        kind: str | None = None,
        shrink: bool = True,
        split: Split | None = None,
        beside: Iterable[Record] = (),
    ) -> SourceUpdate:
        """Keep all records of a source in one transaction: what it held before and brings no more is gone.

        Args:
            source: Under which name it is known; the same file again goes by the name it was given once.
            records: Its records.
            act: How they came, for the lineage of each; whatever item it names.
            replace: Take the place of other sources' records with the same key; what hung on facts that state something
                else now is archived.
            whole: The source was read to its end; else nothing of it is gone.
            kind: Only records of this kind come; what else the source brought before stays.
            shrink: More than a tenth of what the source brought before may be gone.
            split: A frozen split to keep with them.
            beside: Records of no source and without lineage that are kept with them, such as verdicts on them.

        Raises:
            ConflictError: keys that others use for another content, without ``replace``.
            StoreError: the split's name and version are taken by other content, or too much would be gone.
        """
        with self._transaction():
            make_tables(self._db)
            source = known_name(self._db, source)
            gathered = PendingRows(self._db, watch=True, act=act)
            gathered.put(records)
            update = finish_import(
                self._db,
                source,
                gathered,
                replace=replace,
                whole=whole,
                kind=kind,
                shrink=shrink,
                where=str(self.path),
            )
            if split is not None:
                self._keep_split(split)
            put_rows(self._db, beside)
            return update

    def put_split(self, split: Split) -> dict[str, Any]:
        """Keep a frozen split and its cases; returns the header that it is kept with.

        A version that is taken stays as it is: the same cases again change nothing, and the first header holds.

        Raises:
            StoreError: the name and version are taken by a split with other content.
        """
        with self._transaction():
            return self._keep_split(split)

    def _keep_split(self, split: Split) -> dict[str, Any]:
        if (known := self._existing_header(split.name, split.version, split.digest)) is not None:
            return known
        self._put_cases(f"{split.name}@{split.version}", split.all_cases)
        self._put_header(split.header)
        return split.header

    def freeze(
        self, name: str, cases: Iterable[AnyCase], *, version: str, details: Callable[[], dict[str, Any]]
    ) -> Split:
        """Keep cases as a split while they come, in order of their keys; the split that is returned reads them here.

        Args:
            name: The split's name.
            cases: They may be read from this store.
            version: The split's version; where it is taken by the same cases, the split that is there is returned.
            details: Asked when all cases have come: what else the header says.

        Raises:
            UserError: there is no case, or cases of several types.
            StoreError: the name and version are taken by a split with other content.
        """
        label, running, types = f"{name}@{version}", RunningDigest(), set[str]()
        try:
            with self._transaction():
                self._put_cases(label, self._digest_cases(cases, running, types, name))
                if not running.cases:
                    raise no_case(name, details().get("counts"))
                type = one_type(types, name)
                header = header_of(name, version, running.cases, running.hexdigest(), details(), type=type)
                if self._existing_header(name, version, running.hexdigest()) is not None:
                    raise _AlreadyStored
                self._put_header(header)
        except _AlreadyStored:
            log.info("the split %s is frozen already, with these cases; it stays as it is", label)
        return self.open_split(label)

    def _digest_cases(
        self, cases: Iterable[AnyCase], running: RunningDigest, types: set[str], name: str
    ) -> Iterator[AnyCase]:
        for case in cases:
            types.add(case.request.kind)
            if not running.add(case.key, case.canonical()):
                raise DataError(f"the case '{case.key}' is there twice, or not in the order of its key", where=name)
            yield case

    def _existing_header(self, name: str, version: str, digest: str) -> dict[str, Any] | None:
        """The header under a name and version, where the same cases stand there."""
        label = f"{name}@{version}"
        rows = self._db.execute("SELECT digest, header FROM splits WHERE name = ?", [label])
        if rows and rows[0][0] != digest:
            raise StoreError(
                f"another split is called '{label}' (its digest {rows[0][0][:12]}, this one's {digest[:12]})",
                where=str(self.path),
                fix="give the new one another version",
            )
        return dict(json.loads(rows[0][1])) if rows else None

    def _put_header(self, header: dict[str, Any]) -> None:
        label = f"{header['split']}@{header['version']}"
        text = json.dumps(header, ensure_ascii=False)
        self._db.execute("INSERT INTO splits VALUES (?, ?, ?)", [label, header["digest"], text])

    def _put_cases(self, label: str, cases: Iterable[AnyCase]) -> None:
        gathered, place = PendingRows(self._db), 0
        for chunk in chunks(cases):
            gathered.put(chunk)
            sql = "INSERT INTO split_cases SELECT ?, unnest(?::BIGINT[]), unnest(?::VARCHAR[])"
            self._db.execute(sql, [label, list(range(place, place + len(chunk))), [c.id for c in chunk]])
            place += len(chunk)
        gathered.done()

    def put_results(self, manifest: RunManifest, rows: Iterable[CaseResult]) -> None:
        """Keep a run's manifest and its results by case; running again replaces them."""
        with self._transaction():
            put_rows(self._db, [manifest])
            names = dict.fromkeys(("run", "case_key", "body"), "VARCHAR")
            for chunk in chunks(rows):
                values = [(r.run, r.case, r.model_dump_json()) for r in chunk]
                insert(self._db, "INSERT OR REPLACE INTO results SELECT {} FROM {}", values, names)

    def put_table_rows(self, table: str, rows: Sequence[dict[str, Any]]) -> None:
        """Put rows into a table as a dump has them."""
        with self._transaction():
            make_tables(self._db)
            columns = {name: kind for name, kind in columns_of(self._db, table).items() if name != "seq"}
            values = [
                tuple(json.dumps(row[n], ensure_ascii=False) if n in JSON_TEXTS else row[n] for n in columns)
                for row in rows
            ]
            insert(self._db, f"INSERT INTO {table} ({', '.join(columns)}) SELECT {{}} FROM {{}}", values, columns)

    def confirm(self, keys: Sequence[str]) -> list[StaleItem]:
        """Count what is stale because records with these keys changed as made from their content now.

        Raises:
            UserError: nothing is stale because of these keys.
        """
        changed = set(keys)
        chosen = [item for item in self.stale() if changed & set(item.origins.split())]
        if not chosen:
            fix = f"list what is stale: scedit store check --dry-run --store {self.path}"
            raise UserError(f"nothing is stale because of {', '.join(keys)}", where=str(self.path), fix=fix)
        ids, kinds = {item.id for item in chosen}, {item.kind for item in chosen}
        self.put(record for kind in kinds for record in self.by_ids(KINDS[kind], ids))
        return chosen

    def delete_judgements(self, person: str) -> int:
        """Delete the verdicts and ratings of a person and their name among those who were asked about a sample.

        Returns:
            How many records are deleted, earlier versions included.
        """
        asked = "FROM lineage WHERE stage = 'quality_sample' AND list_contains(body->>'$.detail.people[*]', ?)"
        with self._transaction():
            self._db.execute(
                "CREATE OR REPLACE TEMP TABLE forgotten AS SELECT id FROM records WHERE (kind = 'verdict' AND "
                "starts_with(body->>'$.by', ?)) OR (kind = 'rating' AND body->>'$.rater' = ?)",
                [f"person:{person}/", f"person:{person}"],
            )
            for table, column in (("lineage", "item_id"), ("origins", "item"), ("records", "id")):
                self._db.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM forgotten)")
            lines = [Lineage.model_validate_json(r[0]) for r in self._db.execute(f"SELECT body {asked}", [person])]
            self._db.execute(f"DELETE {asked}", [person])
            put_rows(self._db, (), [_without_person(line, person) for line in lines])
            return self._db.count("SELECT count(*) FROM forgotten")

    @property
    def connection(self) -> Connection:
        """The connection, for what is done to the whole database.

        Raises:
            StoreError: open for reading only.
        """
        self._transaction()
        return self._db

    # ---- inside -----------------------------------------------------------------------------------------------

    def _transaction(self) -> AbstractContextManager[None]:
        if not self._write:
            raise StoreError("the store is open for reading only", where=str(self.path))
        return transaction(self._db, self.path)


def _without_person(line: Lineage, person: str) -> Lineage:
    """A sample's line without one of the people who were asked."""
    people = [name for name in line.detail["people"] if name != person]
    request = f"{(line.request or '').rpartition('/')[0]}/{','.join(people)}"
    return line.model_copy(update={"detail": {**line.detail, "people": people}, "request": request})


class _AlreadyStored(Exception):
    """The split that was to be kept is there already: what was written for it is taken back."""
