"""The curated store: one DuckDB file with every record, its lineage, every verdict, the splits and the results.

One process writes at a time, and DuckDB then refuses even readers; a second process is told who holds the
file. A file is looked at read-only before anything is written, so a damaged, foreign or newer one is refused untouched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import duckdb

from curation.splits import Split
from curation.store_file import Transaction, connect, prepare
from schemas.cases import Case
from schemas.errors import StoreError, UserError
from schemas.facts import Fact, Neighbour
from schemas.lineage import Lineage
from schemas.ratings import Rating
from schemas.records import Frozen, Record
from schemas.registry import suggest
from schemas.runs import CaseResult, RunManifest
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict

R = TypeVar("R", bound=Record)

KINDS: dict[str, type[Record]] = {
    c.kind: c for c in (Fact, Neighbour, ScriptQuestion, Script, ScriptPrompt, Case, Verdict, Rating, RunManifest)
}
_PARENT = {"question": "fact", "script": "question", "prompt": "fact", "neighbour": "edit", "case": None}
_PARENT |= {"verdict": "item_id", "rating": "item_id"}
_CHUNK = 2000


class Put(NamedTuple):
    """What a ``put`` did: records seen, records that were new, keys whose current version changed."""

    seen: int
    new: int
    changed: int


class Store:
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
                self._db.execute(
                    "INSERT OR REPLACE INTO results "
                    "SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
                    [[r.run for r in chunk], [r.case for r in chunk], [r.model_dump_json() for r in chunk]],
                )

    # ---- reading ----------------------------------------------------------------------------------------------

    def get(self, item: str) -> Record:
        """A record by key (its current version), by id, or by the unique beginning (6 or more characters) of an id.

        Raises:
            UserError: nothing or more than one thing answers to it.
        """
        rows = self._db.execute("SELECT kind, body FROM records WHERE key = ? AND current", [item]).fetchall()
        if not rows:
            rows = self._db.execute("SELECT kind, body FROM records WHERE id = ?", [item]).fetchall()
        if not rows and re.fullmatch(r"[0-9a-f]{6,}", item):
            rows = self._db.execute(
                "SELECT kind, body FROM records WHERE starts_with(id, ?) LIMIT 9", [item]
            ).fetchall()
        if not rows:
            near = self._near(item)
            raise UserError(
                f"no item '{item}' in the store",
                where=str(self.path),
                fix=f"did you mean '{near}'?" if near else "see: scedit list fact --store " + str(self.path),
            )
        if len(rows) > 1:
            raise UserError(f"'{item}' stands for {len(rows)} items", where=str(self.path), fix="give more of the id")
        return _record(rows[0])

    def _near(self, item: str) -> str | None:
        rows = self._db.execute(
            "SELECT key FROM records WHERE current AND kind <> 'verdict' "
            "ORDER BY jaro_winkler_similarity(key, ?) DESC LIMIT 1",
            [item],
        ).fetchall()
        return suggest(item, [r[0] for r in rows])

    def all(self, cls: type[R], *, parent: str | None = None) -> Iterator[R]:
        """Current records of a kind in order of their keys; with ``parent``, only that parent's."""
        sql = "SELECT kind, body FROM records WHERE kind = ? AND current"
        values: list[Any] = [cls.kind]
        if parent is not None:
            sql, values = sql + " AND parent = ?", [*values, parent]
        for row in self._stream(sql + " ORDER BY key", values):
            record = _record(row)
            assert isinstance(record, cls)
            yield record

    def keys(self, kind: str, *, like: str = "", limit: int | None = None) -> list[tuple[str, str]]:
        """(key, id) of the current records of a kind whose key contains ``like``."""
        if kind not in KINDS:
            raise UserError(f"unknown kind '{kind}'", allowed=", ".join(KINDS))
        sql = "SELECT key, id FROM records WHERE kind = ? AND current AND contains(lower(key), lower(?)) ORDER BY key"
        rows = self._db.execute(sql + (f" LIMIT {int(limit)}" if limit is not None else ""), [kind, like]).fetchall()
        return [(k, i) for k, i in rows]

    def verdicts(self, item_ids: Iterable[str] | None = None) -> Iterator[Verdict]:
        """Current verdicts, all or those on the given items, in order of their keys."""
        sql, values = "SELECT kind, body FROM records WHERE kind = 'verdict' AND current", []
        if item_ids is not None:
            sql, values = sql + " AND parent IN (SELECT unnest(?::VARCHAR[]))", [list(item_ids)]
        for row in self._stream(sql + " ORDER BY key", values):
            record = _record(row)
            assert isinstance(record, Verdict)
            yield record

    def lineage(self, item_id: str) -> list[Lineage]:
        """How an item came to be, oldest first."""
        rows = self._db.execute("SELECT body FROM lineage WHERE item_id = ? ORDER BY made_at", [item_id]).fetchall()
        return [Lineage.model_validate_json(r[0]) for r in rows]

    def lineages(self, *, stage: str | None = None) -> Iterator[Lineage]:
        """All lineage, or that of one stage."""
        sql = "SELECT body FROM lineage" + ("" if stage is None else " WHERE stage = ?") + " ORDER BY item_id, made_at"
        for row in self._stream(sql, [] if stage is None else [stage]):
            yield Lineage.model_validate_json(row[0])

    def split_names(self) -> list[tuple[str, str, int]]:
        """(name@version, digest, number of cases) of every split."""
        return self._db.execute(
            "SELECT s.name, s.digest, count(c.case_id) FROM splits s LEFT JOIN split_cases c ON c.split = s.name "
            "GROUP BY ALL ORDER BY s.name"
        ).fetchall()

    def split(self, name: str) -> Split:
        """A split by ``name`` (its highest version) or ``name@version``.

        Raises:
            UserError: no such split.
        """
        labels = [label for label, _, _ in self.split_names()]
        found = [x for x in labels if x == name or x.rsplit("@", 1)[0] == name]
        if not found:
            near = suggest(name, labels)
            raise UserError(
                f"no split '{name}' in the store",
                where=str(self.path),
                allowed=", ".join(labels) or "none is frozen yet",
                fix=f"did you mean '{near}'?" if near else "freeze one with: scedit split freeze",
            )
        label = max(found, key=lambda x: [int(p) if p.isdigit() else 0 for p in x.rsplit("@", 1)[1].split(".")])
        header = self._db.execute("SELECT header FROM splits WHERE name = ?", [label]).fetchall()[0][0]
        rows = self._db.execute(
            "SELECT r.body FROM split_cases c JOIN records r ON r.id = c.case_id WHERE c.split = ? ORDER BY c.position",
            [label],
        ).fetchall()
        return Split.checked(json.loads(header), [Case.model_validate_json(r[0]) for r in rows], where=str(self.path))

    def results(self, run: str) -> Iterator[CaseResult]:
        """Results of a run, in order of the cases' keys."""
        for row in self._stream("SELECT body FROM results WHERE run = ? ORDER BY case_key", [run]):
            yield CaseResult.model_validate_json(row[0])

    def stats(self) -> dict[str, Any]:
        """Counts: current records and all versions by kind, verdicts by check and label, splits, runs."""
        kinds = self._db.execute(
            "SELECT kind, count(*) FILTER (current), count(*) FROM records GROUP BY kind ORDER BY kind"
        ).fetchall()
        verdicts = self._db.execute(
            "SELECT \"by\", coalesce(label, 'measured'), count(*) FROM verdicts GROUP BY ALL ORDER BY 1, 2"
        ).fetchall()
        return {
            "store": str(self.path),
            "records": {k: {"current": c, "versions": n} for k, c, n in kinds},
            "verdicts": [{"by": b, "label": label, "count": n} for b, label, n in verdicts],
            "splits": [{"split": s, "digest": d, "cases": n} for s, d, n in self.split_names()],
            "results": self._count("SELECT count(*) FROM results"),
            "lineage": self._count("SELECT count(*) FROM lineage"),
        }

    # ---- inside -----------------------------------------------------------------------------------------------

    def _stream(self, sql: str, values: list[Any]) -> Iterator[tuple[Any, ...]]:
        cursor = self._db.cursor()
        try:
            cursor.execute(sql, values)
            while rows := cursor.fetchmany(_CHUNK):
                yield from rows
        finally:
            cursor.close()

    def _count(self, sql: str) -> int:
        row = self._db.execute(sql).fetchone()
        return int(row[0]) if row else 0

    def _transaction(self) -> Transaction:
        if not self._write:
            raise StoreError("the store is open for reading only", where=str(self.path))
        return Transaction(self._db, self.path)


def _json(value: Frozen) -> str:
    return json.dumps(value.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))


def _parent(record: Record) -> str | None:
    field = _PARENT.get(record.kind)
    return getattr(record, field) if field else None


def _record(row: tuple[Any, ...]) -> Record:
    return KINDS[row[0]].model_validate_json(row[1])


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
