"""How records come into a store: gathered in temporary tables, merged some ten thousand at a time, in bounded memory.

DuckDB finds what is known by one join over a batch. Tables without indexes have nothing to be held in memory, and what
a large transaction holds goes to the folder beside the store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import duckdb
import numpy as np

from curation.store.connection import Connection
from curation.store.origins import MADE_FROM, origin_rows, stamp
from schemas.core.errors import DataError
from schemas.core.records import Record, stored_text
from schemas.lineage import Lineage
from schemas.text.escaping import escape_line

CHUNK = 2000
"""Records that are Python objects at a time."""
BATCH = 50_000
"""Records that are merged at a time, ..."""
BATCH_CHARACTERS = 2**25
"""... or fewer, where their texts come to so much: a case holds all of its items."""

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_COLUMNS = {
    "batch": dict.fromkeys(("id", "kind", "key", "parent", "body"), "VARCHAR"),
    "derived": dict.fromkeys(("item", "kind", "origin_kind", "origin"), "VARCHAR"),
    "line": {
        **dict.fromkeys(("item_id", "stage", "made_at", "model", "prompt", "request"), "VARCHAR"),
        **{"tokens_in": "BIGINT", "tokens_out": "BIGINT", "cost": "DOUBLE", "body": "VARCHAR"},
    },
}
_PARENTS = {kind: fields[0][1] for kind, fields in MADE_FROM.items()}
"""For each kind, the field that holds the key (of a verdict, rating: the id) of what a record belongs to."""
_WATCHED = {
    "arrived": dict.fromkeys(("kind", "key", "id"), "VARCHAR"),
    "superseded": {**dict.fromkeys(("kind", "key", "id", "new"), "VARCHAR"), "known": "BOOLEAN"},
}


class PutResult(NamedTuple):
    """What a ``put`` did: records seen, records that were new, keys whose current version changed."""

    seen: int
    new: int
    changed: int


class PendingRows:
    """Records and lineage on their way into the store, inside one transaction; ``done`` merges what is left.

    Args:
        db: The store.
        watch: Note in temporary tables what came (``arrived``) and which current versions it took the place of
            (``superseded``), for ``curation.store.import_sources``.
        act: How all records come: lineage of each, as ``lineage`` would keep it; whatever item it names.

    Attributes:
        revived: Records that were there, of keys that had no current version.
    """

    def __init__(self, db: Connection, *, watch: bool = False, act: Lineage | None = None) -> None:
        self._db, self._watch, self.revived = db, watch, 0
        self._act = _line(act.model_copy(update={"item_id": ""})) if act is not None else None
        self._records = self._lines = self._characters = self._derived = 0
        self._seen = self._new = self._changed = 0
        for table, columns in (_COLUMNS | (_WATCHED if watch else {})).items():
            described = ", ".join(f"{name} {kind}" for name, kind in columns.items())
            db.execute(f"CREATE OR REPLACE TEMP TABLE {table} ({described})")

    def put(self, records: Iterable[Record]) -> None:
        """Keep records; of a key that comes twice in a batch the last holds."""
        for chunk in chunks(records):
            rows = [(r.id, r.kind, r.key, getattr(r, _PARENTS.get(r.kind, ""), None), stored_text(r)) for r in chunk]
            derived = list(origin_rows(chunk))
            self._gather("batch", rows)
            self._gather("derived", derived)
            self._seen += len(chunk)
            self._records += len(chunk)
            self._derived += len(derived)
            self._characters += sum(len(body) for *_, body in rows)
            if self._records >= BATCH or self._characters >= BATCH_CHARACTERS:
                self._merge()

    def lineage(self, lines: Iterable[Lineage]) -> None:
        """Keep lineage; the same act told twice (a resumed run) is one act."""
        for chunk in chunks(lines):
            self._gather("line", [_line(line) for line in chunk])
            self._lines += len(chunk)
            if self._lines >= BATCH:
                self._merge_lines()

    def done(self) -> PutResult:
        """Merge what is left; returns the counts of everything."""
        self._merge()
        self._merge_lines()
        if self._derived:
            self._db.execute("DELETE FROM derived WHERE item NOT IN (SELECT id FROM records)")
            stamp(self._db)
        return PutResult(self._seen, self._new, self._changed)

    def _gather(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            insert(self._db, f"INSERT INTO {table} SELECT {{}} FROM {{}}", rows, _COLUMNS[table])

    def _merge(self) -> None:
        db, held = self._db, self._records
        self._records = self._characters = 0
        if not held:
            return
        if self._act is not None:
            acts = (
                """SELECT id, $1, $2, $3, $4, $5, $6, $7, $8, replace($9, '"item_id":""', '"item_id":"' || id || '"')"""
            )
            db.execute(f"INSERT INTO line {acts} FROM batch", list(self._act[1:]))
            self._merge_lines()
        db.execute("DELETE FROM batch WHERE rowid NOT IN (SELECT max(rowid) FROM batch GROUP BY kind, key)")
        db.execute(
            "CREATE OR REPLACE TEMP TABLE known AS SELECT b.id, r.current FROM batch b JOIN records r ON r.id = b.id"
        )
        db.execute(
            "CREATE OR REPLACE TEMP TABLE ended AS SELECT b.kind, b.key, r.id, b.id AS new FROM records r "
            "JOIN batch b ON r.key = b.key AND r.kind = b.kind WHERE r.current AND r.id <> b.id"
        )
        if self._watch:
            db.execute("INSERT INTO arrived SELECT kind, key, id FROM batch")
            db.execute("INSERT INTO superseded SELECT *, new IN (SELECT id FROM known) FROM ended")
            self.revived += db.count(
                "SELECT count(*) FROM batch b JOIN known k ON k.id = b.id WHERE NOT k.current AND NOT EXISTS "
                "(SELECT 1 FROM records r WHERE r.kind = b.kind AND r.key = b.key AND r.current)"
            )
        self._new += db.count("SELECT (SELECT count(*) FROM batch) - (SELECT count(*) FROM known)")
        self._changed += db.count("SELECT count(*) FROM ended")
        db.execute("UPDATE records SET current = false FROM ended e WHERE records.id = e.id AND records.current")
        db.execute("UPDATE records SET current = true FROM known k WHERE records.id = k.id AND NOT records.current")
        db.execute(
            "INSERT INTO records (id, kind, key, parent, current, body) SELECT id, kind, key, parent, true, body "
            "FROM batch WHERE id NOT IN (SELECT id FROM known) ORDER BY rowid"
        )
        db.execute("TRUNCATE batch")

    def _merge_lines(self) -> None:
        self._lines = 0
        self._db.execute(
            f"""INSERT INTO lineage SELECT {", ".join(_COLUMNS["line"])} FROM (SELECT *, rowid AS place, row_number()
                  OVER (PARTITION BY item_id, stage, request ORDER BY rowid) AS time FROM line) l
                WHERE time = 1 AND NOT EXISTS (SELECT 1 FROM lineage k WHERE k.item_id = l.item_id
                  AND k.stage = l.stage AND k.request IS NOT DISTINCT FROM l.request) ORDER BY place"""
        )
        self._db.execute("TRUNCATE line")


def put_rows(db: Connection, records: Iterable[Record], lineage: Iterable[Lineage] = ()) -> PutResult:
    """Put records and lineage into the store, inside a transaction."""
    rows = PendingRows(db)
    rows.put(records)
    rows.lineage(lineage)
    return rows.done()


def _line(line: Lineage) -> tuple[Any, ...]:
    columns = ("item_id", "stage", "made_at", "model", "prompt", "request", "tokens_in", "tokens_out", "cost")
    return (*(getattr(line, name) for name in columns), stored_text(line))


def insert(db: Connection, sql: str, rows: Sequence[tuple[Any, ...]], columns: dict[str, str]) -> None:
    """Run a statement over rows (its ``{}``: columns, from where); a record that no file can hold is named.

    DuckDB reads arrays of numpy where they lie: a third of the time of parameters that are lists.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, values in zip(columns, zip(*rows, strict=True), strict=True):
        arrays[name] = np.empty(len(rows), dtype=object)
        arrays[name][:] = values
    chosen = ", ".join(f"{name}::{kind} AS {name}" for name, kind in columns.items())
    try:
        db.execute_over(sql.format(chosen, "{}"), arrays)
    except duckdb.Error:
        for body in (str(row[-1]) for row in rows):
            if half := _HALF_PAIR.search(body):
                data = json.loads(body)
                raise DataError(
                    "half of a surrogate pair, which UTF-8 cannot hold: "
                    + escape_line(body[max(0, half.start() - 30) : half.end() + 30]),
                    where=data.get("key") or data.get("item_id"),
                    fix="replace it in the source; nothing of this step was kept",
                ) from None
        raise


T = TypeVar("T")


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Items in lists of ``CHUNK``."""
    iterator = iter(items)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk
