"""Copies of a store: backups and snapshots made by the writer, dumps as text, stores rebuilt from dumps, plain SQL."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb

from curation.files.atomic import atomic_file, atomic_path
from curation.files.json_files import json_lines
from curation.store.connection import Connection, examine, open_connection, transaction
from curation.store.import_sources import make_tables
from curation.store.origins import JUDGEMENTS, fill_origins
from curation.store.reader import TABLES
from curation.store.store import KINDS, Store
from curation.store.writer import chunks
from schemas.core.errors import DataError, StoreError, UserError
from schemas.text.counting import counted

DUMP_FORMAT = 2


def snapshot(store: Store, path: Path) -> None:
    """Copy an open store to a file, consistently; its writer goes on afterwards, the old copy is replaced at once.

    Args:
        store: Open for reading or writing; between two transactions.
        path: The copy. Live views read it instead of the locked store.

    Raises:
        UserError: the copy cannot be written.
    """
    with atomic_path(path, "the copy", fsync=False) as partial:
        try:
            store.copy_to(partial)
        except duckdb.Error as error:
            reason = str(error).split("\n")[0]
            raise UserError(f"the copy cannot be written: {reason}", where=str(path)) from None


def forget_person(path: Path, name: str) -> int:
    """Delete a person's verdicts and ratings from a store, all versions with their lineage; returns how many.

    The file is written anew, so that nothing of them is left in it. In a sample's list the person's name is deleted,
    too. A frozen split is never changed: its header may name the person among those who judged its sample.
    """
    with Store.open(path, write=True) as store:
        number = store.delete_judgements(name)
    with atomic_path(path, "the store", fsync=False) as partial, Store.open(path) as store:
        store.copy_to(partial)
    return number


def dump(store: Store, path: Path) -> dict[str, int]:
    """Write every row of a store's tables as JSON lines; returns the number of rows by table.

    The file is read line by line by ``rebuild`` and by anything else; it takes its name only when it is complete.
    """
    counts: Counter[str] = Counter()
    with atomic_file(path, "the dump") as file:
        file.write(json.dumps({"scedit_dump": DUMP_FORMAT}) + "\n")
        for table, row in store.everything():
            counts[table] += 1
            file.write(json.dumps({table: row}, ensure_ascii=False, separators=(",", ":")) + "\n")
        file.write(json.dumps({"end": counts}) + "\n")
    return dict(counts)


def rebuild(path: Path, target: Path) -> dict[str, int]:
    """Make a store from a dump: the same rows in every table; returns their number.

    Raises:
        UserError: the target exists.
        DataError: the dump is cut off, or a line of it is not what it should be; no store is left behind then.
    """
    if target.exists():
        raise UserError("the store exists already", where=str(target), fix="name another file, or move it away")
    counts: Counter[str] = Counter()
    with atomic_path(target, "the store") as partial, Store.open(partial, create=True) as store:
        for batch in chunks(_lines(path)):
            for table, rows in groupby(batch, key=itemgetter(0)):
                values = [_checked(table, row, where) for _, row, where in rows]
                store.put_table_rows(table, values)
                counts[table] += len(values)
        if not counts["origins"]:  # the dump of a store that an earlier version wrote
            fill_origins(store.connection)
        for label, _, _ in store.split_names():  # reading a split to its end checks its digest
            deque(store.open_split(label).all_cases, maxlen=0)
    return dict(counts)


def _checked(table: str, row: dict[str, Any], where: str) -> dict[str, Any]:
    """A row of a dump, of which a record must be what its id says."""
    try:
        if table != "records" or KINDS[row["kind"]].model_validate(row["body"]).id == row["id"]:
            return row
        what = "the content does not fit its id"
    except (KeyError, TypeError, ValueError) as error:
        what = str(error).splitlines()[0]
    raise DataError(f"not a line of a dump: {what}", where=where)


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Table, row and place of every line of a dump."""
    counts: Counter[str] = Counter()
    end: dict[str, int] | None = None
    for number, where, data in json_lines(path):
        if number == 1:
            if not isinstance(data, dict) or data.get("scedit_dump") != DUMP_FORMAT:
                what = f"not a dump of a store in format {DUMP_FORMAT}"
                raise DataError(what, where=str(path), fix="make one with: scedit store dump")
            continue
        table, row = next(iter(data.items())) if isinstance(data, dict) and len(data) == 1 else ("", {})
        if table == "end":
            end = row
        elif table not in TABLES or not isinstance(row, dict):
            raise DataError(f"a dump has no '{table}'", where=where)
        else:
            counts[table] += 1
            yield table, row, where
    if end != counts:
        raise DataError("the dump is cut off: its last line with the counts is missing or differs", where=str(path))


class QueryResult(NamedTuple):
    """The answer to a query."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def query(path: Path, sql: str, *, limit: int | None = None) -> QueryResult:
    """Run one SQL statement against a store, read-only and without reach to other files.

    Raises:
        UserError: the statement fails or would write.
    """
    with open_connection(path) as db:
        db.execute("SET enable_external_access = false")
        db.execute("SET lock_configuration = true")
        try:
            answer = db.ask(sql, limit)
        except duckdb.Error as error:
            reason = " ".join(str(error).split())
            fix = "the tables and views are in the documentation, page 'Facts and the store'"
            raise UserError(f"the query fails: {reason[:300]}", where=str(path), fix=fix) from None
    if answer is None:
        raise UserError("there is no statement in the query", where=str(path), fix='try "SELECT * FROM facts"')
    return QueryResult(*answer)


def restore(backup: Path, target: Path) -> None:
    """Put a backup in a store's place; refused where the backup is not sound or the target exists.

    Raises:
        StoreError: the backup is damaged, foreign or newer.
    """
    with Store.open(backup) as store:
        if target.exists():
            fix = "move it away first; it is not overwritten"
            raise StoreError("the store exists already", where=str(target), fix=fix)
        snapshot(store, target)


SHOWN = 10
"""Keys that are listed."""
Preference = Literal["ours", "theirs"]


class MergeResult(NamedTuple):
    """What a merge did.

    Attributes:
        new: Records that were not in the store.
        changed: Keys whose version in the other store is the later one: it made its version from ours.
        two_versions: Keys with two current versions, decided by the preference; of judgements ours stays without one.
        splits: Splits that came.
        results: Results of runs that came.
        lines: The first of the keys with two versions.
    """

    new: int
    changed: int
    two_versions: int
    splits: int
    results: int
    lines: tuple[str, ...]


def merge(store: Store, other: Path, *, prefer: Preference | None = None) -> MergeResult:
    """Take everything of another store into an open one; the other stays as it is. All or nothing.

    A version that one store holds as an earlier one gives way to the other store's current version.

    Args:
        store: Open for writing.
        other: The other store's file.
        prefer: Whose version counts where both changed a key; None: that is an error.

    Raises:
        UserError: the store itself.
        StoreError: keys with two current versions and no preference, or a split's name and version with other cases.
    """
    if other.resolve() == store.path.resolve():
        raise UserError("a store cannot be merged with itself", where=str(other))
    examine(other)
    db, path = store.connection, str(other).replace("'", "''")
    db.execute(f"ATTACH '{path}' AS theirs (READ_ONLY)")
    try:
        with transaction(db, store.path):
            return _merge(db, other, prefer)
    finally:
        db.execute("DETACH theirs")


def _merge(db: Connection, other: Path, prefer: Preference | None) -> MergeResult:
    """Record by record, then all that belongs to them; inside a transaction."""
    sql = "SELECT name FROM theirs.splits t JOIN splits m USING (name) WHERE m.digest <> t.digest ORDER BY 1"
    if rows := db.execute(sql):
        fix = "freeze one of them under another version first"
        raise StoreError(f"another split is called '{rows[0][0]}' there", where=str(other), fix=fix)
    changed = _give_way(db)
    conflicts, lines = _conflicts(db, other, prefer)
    new = db.count("SELECT count(*) FROM theirs.records WHERE id NOT IN (SELECT id FROM records)")
    db.execute(
        """INSERT INTO records (id, kind, key, parent, current, body)
           SELECT t.id, t.kind, t.key, t.parent, t.current AND t.id NOT IN (SELECT id FROM loser), t.body
           FROM theirs.records t WHERE t.id NOT IN (SELECT id FROM records) ORDER BY t.seq"""
    )
    db.execute("UPDATE records SET current = false WHERE id IN (SELECT id FROM loser)")
    db.execute("INSERT INTO lineage SELECT * FROM theirs.lineage EXCEPT SELECT * FROM lineage")
    splits = db.count("SELECT count(*) FROM theirs.splits WHERE name NOT IN (SELECT name FROM splits)")
    fresh = "NOT IN (SELECT name FROM splits)"
    db.execute(f"INSERT INTO split_cases SELECT * FROM theirs.split_cases WHERE split {fresh}")
    db.execute(f"INSERT INTO splits SELECT * FROM theirs.splits WHERE name {fresh}")
    unknown = "FROM theirs.results t ANTI JOIN results m ON m.run = t.run AND m.case_key = t.case_key"
    results = db.count(f"SELECT count(*) {unknown}")
    db.execute(f"INSERT INTO results SELECT t.* {unknown}")
    sql = "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'theirs'"
    tables = {name for (name,) in db.execute(sql)}  # a store of 0.2.0 may lack some
    if {"sources", "source_items"} <= tables:
        _merge_sources(db)
    if "origins" in tables:
        _merge_origins(db)
    fill_origins(db)
    return MergeResult(new, changed, conflicts, splits, results, lines)


def _give_way(db: Connection) -> int:
    """End our versions that the other store holds as earlier ones of what it has now; returns their number."""
    later = """SELECT m.id FROM records m JOIN theirs.records e ON e.id = m.id AND NOT e.current
               JOIN theirs.records t ON t.kind = m.kind AND t.key = m.key AND t.current WHERE m.current"""
    number = db.count(f"SELECT count(*) FROM ({later})")
    db.execute(f"UPDATE records SET current = false WHERE id IN ({later})")
    known = "UPDATE records SET current = true WHERE NOT current AND id IN (SELECT id FROM theirs.records t WHERE "
    db.execute(
        f"""{known} t.current AND NOT EXISTS (SELECT 1 FROM records m
              WHERE m.kind = t.kind AND m.key = t.key AND m.current)
            AND EXISTS (SELECT 1 FROM theirs.records e JOIN records m ON m.id = e.id
              WHERE e.kind = t.kind AND e.key = t.key AND NOT e.current AND m.id <> t.id))"""
    )
    return number


def _conflicts(db: Connection, other: Path, prefer: Preference | None) -> tuple[int, tuple[str, ...]]:
    """Fill ``loser`` with the ids that are not current after the merge; refuse conflicts without a preference."""
    db.execute(
        """CREATE OR REPLACE TEMP TABLE conflict AS
           SELECT m.kind, m.key, m.id AS ours, t.id AS theirs FROM records m
           JOIN theirs.records t ON t.kind = m.kind AND t.key = m.key AND t.current
           WHERE m.current AND m.id <> t.id AND t.id NOT IN (SELECT id FROM records)"""
    )
    rows = db.execute("SELECT kind, key FROM conflict ORDER BY kind, key")
    more = (f"two versions: ... and {len(rows) - SHOWN:,} more",) if len(rows) > SHOWN else ()
    lines = (*(f"two versions: {kind} {key}" for kind, key in rows[:SHOWN]), *more)
    if prefer is None and (made := [row for row in rows if row[0] not in JUDGEMENTS]):
        error = StoreError(
            f"the two stores have other content for {counted(len(made), 'key')} "
            f"(first: {made[0][0]} {made[0][1]}); nothing was merged",
            where=str(other),
            fix="say --keep theirs or --keep ours",
        )
        error.lines = lines
        raise error
    column = "ours" if prefer == "theirs" else "theirs"
    db.execute(f"CREATE OR REPLACE TEMP TABLE loser AS SELECT {column} AS id FROM conflict")
    return len(rows), lines


def _merge_sources(db: Connection) -> None:
    make_tables(db)
    columns = "name, file, digest, named, imported_at"
    db.execute(f"INSERT INTO sources SELECT {columns} FROM theirs.sources WHERE name NOT IN (SELECT name FROM sources)")
    db.execute(
        """INSERT INTO source_items SELECT t.source, t.kind, t.key, t.id FROM theirs.source_items t
           ANTI JOIN source_items m ON m.source = t.source AND m.kind = t.kind AND m.key = t.key"""
    )


def _merge_origins(db: Connection) -> None:
    """Theirs for what has none here, and for what is stale here."""
    db.execute(
        """DELETE FROM origins WHERE item IN (SELECT item FROM theirs.origins) AND item IN
             (SELECT o.item FROM origins o JOIN records r ON r.id = o.origin WHERE NOT r.current)"""
    )
    db.execute("INSERT INTO origins SELECT t.* FROM theirs.origins t ANTI JOIN origins m USING (item)")
