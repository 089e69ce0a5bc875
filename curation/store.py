"""The curated store: one DuckDB file with every record, its lineage, every verdict, the splits and the results.

One process writes at a time, and DuckDB then refuses even readers; a second process is told who holds the
file. A file is looked at read-only before anything is written, so a damaged, foreign or newer one is refused untouched.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

import duckdb

from curation.splits import Split
from curation.store_file import Transaction, connect, prepare
from curation.store_reading import KINDS, Reading
from schemas.errors import StoreError
from schemas.lineage import Lineage
from schemas.records import Frozen, Record
from schemas.runs import CaseResult, RunManifest

__all__ = ["KINDS", "Put", "Store"]

_PARENT = {"question": "fact", "script": "question", "prompt": "fact", "neighbour": "edit", "case": None}
_PARENT |= {"verdict": "item_id", "rating": "item_id", "extra": "of"}
_CHUNK = 2000


class Put(NamedTuple):
    """What a ``put`` did: records seen, records that were new, keys whose current version changed."""

    seen: int
    new: int
    changed: int


class Store(Reading):
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

    def __init__(self, db: duckdb.DuckDBPyConnection, path: Path, *, write: bool) -> None:
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
        prepare(path, create=create)
        return cls(connect(path, write=write or create), path, write=write or create)

    def close(self) -> None:
        """Close the file; a writer's lock is given up."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- writing ----------------------------------------------------------------------------------------------

    def put(self, records: Iterable[Record], lineage: Iterable[Lineage] = ()) -> Put:
        """Keep records and lineage in one transaction; what is there already stays as it is.

        A record with a known key and new content becomes that key's current version; the earlier one is kept.
        """
        seen = new = changed = 0
        with self._transaction():
            for chunk in _chunks(records):
                counts = self._put_chunk(chunk)
                seen, new, changed = seen + counts.seen, new + counts.new, changed + counts.changed
            for lines in _chunks(lineage):
                self._put_lineage(lines)
        return Put(seen, new, changed)

    def put_each(self, pairs: Iterable[tuple[Record, Lineage]]) -> Put:
        """Keep records, each with its lineage, in one transaction and in bounded memory; an error keeps nothing."""
        seen = new = changed = 0
        with self._transaction():
            for chunk in _chunks(pairs):
                counts = self._put_chunk([record for record, _ in chunk])
                self._put_lineage([line for _, line in chunk])
                seen, new, changed = seen + counts.seen, new + counts.new, changed + counts.changed
        return Put(seen, new, changed)

    def _put_chunk(self, records: Sequence[Record]) -> Put:
        last = {(r.kind, r.key): r for r in records}
        rows = [(r.id, r.kind, r.key, _parent(r), _json(r)) for r in last.values()]
        columns = [list(c) for c in zip(*rows, strict=True)]
        self._db.execute(
            "CREATE OR REPLACE TEMP TABLE batch AS SELECT unnest(?::VARCHAR[]) AS id, unnest(?::VARCHAR[]) AS kind, "
            "unnest(?::VARCHAR[]) AS key, unnest(?::VARCHAR[]) AS parent, unnest(?::VARCHAR[]) AS body",
            columns,
        )
        new = self._count("SELECT count(*) FROM batch WHERE id NOT IN (SELECT id FROM records)")
        changed = self._count(
            "SELECT count(*) FROM records r JOIN batch b ON r.key = b.key AND r.kind = b.kind "
            "WHERE r.current AND r.id <> b.id"
        )
        if changed:
            self._db.execute(
                "UPDATE records SET current = false FROM batch b WHERE records.key = b.key AND records.kind = b.kind "
                "AND records.current AND records.id <> b.id"
            )
            self._db.execute(
                "UPDATE records SET current = true FROM batch b WHERE records.id = b.id AND NOT records.current"
            )
        if new:
            self._db.execute(
                "INSERT INTO records (id, kind, key, parent, current, body) "
                "SELECT id, kind, key, parent, true, body FROM batch WHERE id NOT IN (SELECT id FROM records)"
            )
        return Put(len(records), new, changed)

    def _put_lineage(self, lines: Sequence[Lineage]) -> None:
        rows = [
            (x.item_id, x.stage, x.made_at, x.model, x.prompt, x.request, x.tokens_in, x.tokens_out, x.cost, _json(x))
            for x in lines
        ]
        columns = [list(c) for c in zip(*rows, strict=True)]
        self._db.execute(
            "CREATE OR REPLACE TEMP TABLE line AS SELECT unnest(?::VARCHAR[]) AS item_id, "
            "unnest(?::VARCHAR[]) AS stage, "
            "unnest(?::VARCHAR[]) AS made_at, unnest(?::VARCHAR[]) AS model, unnest(?::VARCHAR[]) AS prompt, "
            "unnest(?::VARCHAR[]) AS request, unnest(?::BIGINT[]) AS tokens_in, unnest(?::BIGINT[]) AS tokens_out, "
            "unnest(?::DOUBLE[]) AS cost, unnest(?::VARCHAR[]) AS body",
            columns,
        )
        self._db.execute(  # the same act told twice (a resumed run) is one act
            "INSERT INTO lineage SELECT * FROM line l WHERE NOT EXISTS (SELECT 1 FROM lineage k WHERE "
            "k.item_id = l.item_id AND k.stage = l.stage AND k.request IS NOT DISTINCT FROM l.request)"
        )

    def put_split(self, split: Split) -> None:
        """Keep a frozen split and its cases.

        Raises:
            StoreError: the name and version are taken by a split with other content.
        """
        label = f"{split.name}@{split.version}"
        with self._transaction():
            row = self._db.execute("SELECT digest FROM splits WHERE name = ?", [label]).fetchone()
            if row and row[0] != split.digest:
                raise StoreError(
                    f"another split is called '{label}' (its digest {row[0][:12]}, this one's {split.digest[:12]})",
                    where=str(self.path),
                    fix="give the new one another version",
                )
            if row:
                return
            for chunk in _chunks(split.cases):
                self._put_chunk(chunk)
            header = json.dumps(split.header, ensure_ascii=False)
            self._db.execute("INSERT INTO splits VALUES (?, ?, ?)", [label, split.digest, header])
            for n, chunk in enumerate(_chunks(split.cases)):
                self._db.execute(
                    "INSERT INTO split_cases SELECT ?, unnest(?::BIGINT[]), unnest(?::VARCHAR[])",
                    [label, [n * _CHUNK + i for i in range(len(chunk))], [c.id for c in chunk]],
                )

    def put_results(self, manifest: RunManifest, rows: Iterable[CaseResult]) -> None:
        """Keep a run's manifest and its results by case; running again replaces them."""
        with self._transaction():
            self._put_chunk([manifest])
            for chunk in _chunks(rows):
                self._put_rows(chunk)

    def put_versions(
        self, versions: Iterable[tuple[Record, bool]], lineage: Iterable[Lineage], results: Iterable[CaseResult]
    ) -> None:
        """Keep records of which it is known whether they are current, as a dump says; with lineage and results."""
        with self._transaction():
            for chunk in _chunks(versions):
                rows = [(r.id, r.kind, r.key, _parent(r), current, _json(r)) for r, current in chunk]
                columns = [list(c) for c in zip(*rows, strict=True)]
                self._db.execute(
                    "INSERT OR IGNORE INTO records (id, kind, key, parent, current, body) "
                    "SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), "
                    "unnest(?::VARCHAR[]), unnest(?::BOOLEAN[]), unnest(?::VARCHAR[])",
                    columns,
                )
            for lines in _chunks(lineage):
                self._put_lineage(lines)
            for rows_ in _chunks(results):
                self._put_rows(rows_)

    def _put_rows(self, rows: Sequence[CaseResult]) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO results SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
            [[r.run for r in rows], [r.case for r in rows], [r.model_dump_json() for r in rows]],
        )

    # ---- inside -----------------------------------------------------------------------------------------------

    def _transaction(self) -> Transaction:
        if not self._write:
            raise StoreError("the store is open for reading only", where=str(self.path))
        return Transaction(self._db, self.path)


def _json(value: Frozen) -> str:
    return json.dumps(value.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))


def _parent(record: Record) -> str | None:
    field = _PARENT.get(record.kind)
    return getattr(record, field) if field else None


T = TypeVar("T")


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    chunk: list[T] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
