"""How records come into a store: gathered in temporary tables, merged some ten thousand at a time, in bounded memory.

DuckDB finds what is known by one join over a batch. Tables without indexes have nothing to be held in memory, and what
a large transaction holds goes to the folder beside the store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import duckdb
import numpy as np

from curation.store.connection import Connection
from curation.store.origins import origin_rows, stamp
from schemas.core.errors import DataError
from schemas.core.json_text import stored_text
from schemas.core.records import Frozen, Record
from schemas.lineage import Lineage
from schemas.runs import CaseResult
from schemas.text.escaping import escape_line

CHUNK = 2000
"""Records that are Python objects at a time."""
BATCH = 50_000
"""Records that are merged at a time, ..."""
BATCH_CHARACTERS = 2**25
"""... or fewer, where their texts come to so much: a case holds all of its items."""

_PARENT = {"question": "fact", "script": "question", "prompt": "fact", "neighbour": "edit", "case": None}
_PARENT |= {"generated": "question", "verdict": "item_id", "rating": "item_id", "extra": "subject_key"}
_PARENT |= {"fact_question": "event", "tendency_question": "event", "open_answer": "question"}
_PARENT |= {"document_probe": "document", "simplified_fact": "document"}


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
        met: Whether a record, or another of its key, was there when it came: then one can have come twice.
    """

    def __init__(self, db: Connection, *, watch: bool = False, act: Lineage | None = None) -> None:
        self._db, self._watch, self._act, self.revived, self.met = db, watch, act, 0, False
        if watch:
            for name, columns in _WATCHED.items():
                db.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({columns})")
        self._records = self._lines = self._characters = self._derived = 0
        self._seen = self._new = self._changed = 0

    def records(self, records: Sequence[Record]) -> None:
        """Keep some records; of a key that comes twice in a batch the last holds."""
        if not records:
            return
        self._seen += len(records)
        last = {(r.kind, r.key): r for r in records}
        if self._act is not None and len(last) < len(records):
            held = {record.id for record in last.values()}
            self.lineage([self._act.model_copy(update={"item_id": r.id}) for r in records if r.id not in held])
        rows = [(r.id, r.kind, r.key, parent_of(r), json_of(r)) for r in last.values()]
        self._gather("batch", rows, self._records)
        if derived := list(origin_rows(last.values())):
            self._gather("derived", derived, self._derived)
            self._derived += len(derived)
        self._records += len(records)
        self._characters += sum(len(body) for *_, body in rows)
        if self._records >= BATCH or self._characters >= BATCH_CHARACTERS:
            self._merge()

    def lineage(self, lines: Sequence[Lineage]) -> None:
        """Keep some lineage; the same act told twice (a resumed run) is one act."""
        if not lines:
            return
        columns = ("item_id", "stage", "made_at", "model", "prompt", "request")
        rows = [(*(getattr(x, c) for c in columns), x.tokens_in, x.tokens_out, x.cost, json_of(x)) for x in lines]
        self._gather("line", rows, self._lines)
        self._lines += len(lines)
        if self._lines >= BATCH:
            self._merge_lines()

    def done(self) -> PutResult:
        """Merge what is left; returns the counts of everything."""
        self._merge()
        self._merge_lines()
        if self._derived:
            stamp(self._db)
        return PutResult(self._seen, self._new, self._changed)

    def _gather(self, table: str, rows: Sequence[tuple[object, ...]], held: int) -> None:
        names = _COLUMNS[table]
        if not held:
            described = ", ".join(f"{name} {kind}" for name, kind in names)
            self._db.execute(f"CREATE OR REPLACE TEMP TABLE {table} ({described})")
        insert(self._db, f"INSERT INTO {table} SELECT {{}} FROM {{}}", rows, names)

    def _merge(self) -> None:
        if not self._records:
            return
        db, self._records, self._characters = self._db, 0, 0
        keys = count(db, "SELECT count(*) - count(DISTINCT (kind, key)) FROM batch")
        if self._act is not None:
            self._merge_acts(self._act, "SELECT id, min(rowid) AS n FROM batch GROUP BY id" if keys else _ALL_ACTED)
        if keys:
            db.execute("DELETE FROM batch WHERE rowid NOT IN (SELECT max(rowid) FROM batch GROUP BY kind, key)")
        db.execute(
            "CREATE OR REPLACE TEMP TABLE known AS SELECT b.id, r.current FROM batch b JOIN records r ON r.id = b.id"
        )
        new = count(db, "SELECT (SELECT count(*) FROM batch) - (SELECT count(*) FROM known)")
        back = count(db, "SELECT count(*) FROM known WHERE NOT current")
        changed = count(
            db,
            "SELECT count(*) FROM records r JOIN batch b ON r.key = b.key AND r.kind = b.kind "
            "WHERE r.current AND r.id <> b.id",
        )
        known = self._any("FROM known")
        self.met |= known or bool(changed)
        if self._watch:
            self._note(changed)
        if changed:
            db.execute(
                "UPDATE records SET current = false FROM batch b WHERE records.key = b.key AND records.kind = b.kind "
                "AND records.current AND records.id <> b.id"
            )
        if back:
            db.execute("UPDATE records SET current = true FROM batch b WHERE records.id = b.id AND NOT records.current")
        if new:
            unknown = "WHERE id NOT IN (SELECT id FROM known) ORDER BY rowid" if known else ""  # else as they lie
            db.execute(
                "INSERT INTO records (id, kind, key, parent, current, body) "
                f"SELECT id, kind, key, parent, true, body FROM batch {unknown}"
            )
        self._new, self._changed = self._new + new, self._changed + changed

    def _note(self, changed: int) -> None:
        """Remember what came in this batch and which current versions end with it."""
        db = self._db
        db.execute("INSERT INTO arrived SELECT kind, key, id FROM batch")
        if changed:
            db.execute(
                "INSERT INTO superseded SELECT b.kind, b.key, r.id, b.id, b.id IN (SELECT id FROM known) "
                "FROM records r JOIN batch b ON r.key = b.key AND r.kind = b.kind WHERE r.current AND r.id <> b.id"
            )
        self.revived += count(
            db,
            "SELECT count(*) FROM batch b JOIN known k ON k.id = b.id WHERE NOT k.current AND NOT EXISTS "
            "(SELECT 1 FROM records r WHERE r.kind = b.kind AND r.key = b.key AND r.current)",
        )

    def _merge_lines(self) -> None:
        if not self._lines:
            return
        self._lines = 0
        self._db.execute(
            "CREATE OR REPLACE TEMP TABLE told AS SELECT l.rowid AS n FROM line l "
            "JOIN lineage k ON k.item_id = l.item_id "
            "AND k.stage = l.stage AND k.request IS NOT DISTINCT FROM l.request"
        )
        names = ", ".join(name for name, _ in _COLUMNS["line"])
        self._db.execute(
            f"INSERT INTO lineage SELECT {names} FROM line WHERE rowid NOT IN (SELECT n FROM told) ORDER BY rowid"
        )

    def _merge_acts(self, act: Lineage, ids: str) -> None:
        """Lineage of every record of the batch, also of those that another of the same key takes the place of.

        ``ids``: a query for their ids, each once, and their order.
        """
        _, begin, rest = json_of(act).partition(f'{{"item_id":{json.dumps(act.item_id)}')
        assert begin, "the id comes first in a line of lineage"
        plain = [act.stage, act.made_at, act.model, act.prompt, act.request, act.tokens_in, act.tokens_out, act.cost]
        acted = "FROM lineage WHERE stage = $1 AND request IS NOT DISTINCT FROM $2"
        again = self._any(f"{acted} AND item_id IN (SELECT id FROM batch)", [act.stage, act.request])
        unknown = f"WHERE id NOT IN (SELECT item_id {acted.replace('$2', '$5')})" if again else ""
        order = "ORDER BY n" if again or ids != _ALL_ACTED else ""  # else they come as they lie, which costs nothing
        self._db.execute(
            "INSERT INTO lineage SELECT id, $1, $2, $3, $4, $5, $6, $7, $8, "
            f"""'{{"item_id":"' || id || '"' || $9 FROM ({ids}) {unknown} {order}""",
            [*plain, rest],
        )

    def _any(self, rows: str, values: Sequence[object] = ()) -> bool:
        return self._db.execute(f"SELECT 1 {rows} LIMIT 1", list(values)).fetchone() is not None


_ALL_ACTED = "SELECT id, rowid AS n FROM batch"
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_TEXT = "VARCHAR"
_WATCHED = {
    "arrived": "kind VARCHAR, key VARCHAR, id VARCHAR",
    "superseded": "kind VARCHAR, key VARCHAR, id VARCHAR, new VARCHAR, known BOOLEAN",
}
_COLUMNS = {
    "batch": [(name, _TEXT) for name in ("id", "kind", "key", "parent", "body")],
    "derived": [(name, _TEXT) for name in ("item", "kind", "origin_kind", "origin")],
    "line": [
        *((name, _TEXT) for name in ("item_id", "stage", "made_at", "model", "prompt", "request")),
        ("tokens_in", "BIGINT"),
        ("tokens_out", "BIGINT"),
        ("cost", "DOUBLE"),
        ("body", _TEXT),
    ],
}


def put_rows(db: Connection, rows: Sequence[CaseResult]) -> None:
    """Results of runs; those of the same run and case are replaced."""
    insert(
        db,
        "INSERT OR REPLACE INTO results SELECT {} FROM {}",
        [(r.run, r.case, r.model_dump_json()) for r in rows],
        [("run", _TEXT), ("case_key", _TEXT), ("body", _TEXT)],
    )


def insert(db: Connection, sql: str, rows: Sequence[tuple[object, ...]], names: Iterable[tuple[str, str]]) -> None:
    """Run a statement over rows (its ``{}``: columns, from where); a record that no file can hold is named.

    DuckDB reads arrays of numpy where they lie: a third of the time of parameters that are lists.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for (name, _), values in zip(names, zip(*rows, strict=True), strict=True):
        arrays[name] = np.empty(len(rows), dtype=object)
        arrays[name][:] = values
    columns = ", ".join(f"{name}::{kind} AS {name}" for name, kind in names)
    try:
        db.execute_over(sql.format(columns, "{}"), arrays)
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


def json_of(value: Frozen) -> str:
    """A record as the store's JSON text."""
    return stored_text(value)


def parent_of(record: Record) -> str | None:
    """Key (of a verdict, rating: id) of what a record belongs to."""
    field = _PARENT.get(record.kind)
    return getattr(record, field) if field else None


def count(db: Connection, sql: str, values: Sequence[object] = ()) -> int:
    """The one number that a query asks for."""
    row = db.execute(sql, list(values)).fetchone()
    return int(row[0]) if row else 0


T = TypeVar("T")


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Items in lists of ``CHUNK``."""
    chunk: list[T] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
