"""Two stores become one: records of both, judgements of both, and a list of the keys that mean two things."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from curation.store.connection import Connection, examine, transaction
from curation.store.import_sources import make_tables
from curation.store.origins import fill_origins, is_judgement
from curation.store.store import Store
from schemas.core.errors import StoreError, UserError
from schemas.text.counting import counted

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
    with _attached(store.connection, other) as db:
        tables = {row[0] for row in db.execute(_TABLES)}
        _refuse_other_splits(db, other)
        with transaction(db, store.path):
            return _StoreMerge(db, store.path, other, tables).run(prefer)


_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'theirs'"


@contextmanager
def _attached(db: Connection, other: Path) -> Iterator[Connection]:
    """The connection with the other store as the database ``theirs``."""
    path = str(other).replace("'", "''")
    db.execute(f"ATTACH '{path}' AS theirs (READ_ONLY)")
    try:
        yield db
    finally:
        db.execute("DETACH theirs")


def _refuse_other_splits(db: Connection, other: Path) -> None:
    sql = "SELECT name FROM theirs.splits t JOIN splits m USING (name) WHERE m.digest <> t.digest ORDER BY 1"
    if rows := db.execute(sql):
        fix = "freeze one of them under another version first"
        raise StoreError(f"another split is called '{rows[0][0]}' there", where=str(other), fix=fix)


class _StoreMerge:
    """One merge, inside a transaction."""

    def __init__(self, db: Connection, path: Path, other: Path, tables: set[str]) -> None:
        self._db, self._path, self._other, self._tables = db, path, other, tables

    def run(self, prefer: Preference | None) -> MergeResult:
        """Record by record, then all that belongs to them."""
        db = self._db
        changed = self._give_way()
        conflicts, lines = self._conflicts(prefer)
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
        self._sources()
        self._origins()
        return MergeResult(new, changed, conflicts, splits, results, lines)

    def _give_way(self) -> int:
        """End our versions that the other store holds as earlier ones of what it has now; returns their number."""
        later = """SELECT m.id FROM records m JOIN theirs.records e ON e.id = m.id AND NOT e.current
                   JOIN theirs.records t ON t.kind = m.kind AND t.key = m.key AND t.current WHERE m.current"""
        number = self._db.count(f"SELECT count(*) FROM ({later})")
        self._db.execute(f"UPDATE records SET current = false WHERE id IN ({later})")
        known = "UPDATE records SET current = true WHERE NOT current AND id IN (SELECT id FROM theirs.records t WHERE "
        self._db.execute(
            f"""{known} t.current AND NOT EXISTS (SELECT 1 FROM records m
                  WHERE m.kind = t.kind AND m.key = t.key AND m.current)
                AND EXISTS (SELECT 1 FROM theirs.records e JOIN records m ON m.id = e.id
                  WHERE e.kind = t.kind AND e.key = t.key AND NOT e.current AND m.id <> t.id))"""
        )
        return number

    def _conflicts(self, prefer: Preference | None) -> tuple[int, tuple[str, ...]]:
        """Fill ``loser`` with the ids that are not current after the merge; refuse conflicts without a preference."""
        self._db.execute(
            """CREATE OR REPLACE TEMP TABLE conflict AS
               SELECT m.kind, m.key, m.id AS ours, t.id AS theirs FROM records m
               JOIN theirs.records t ON t.kind = m.kind AND t.key = m.key AND t.current
               WHERE m.current AND m.id <> t.id AND t.id NOT IN (SELECT id FROM records)"""
        )
        rows = self._db.execute("SELECT kind, key FROM conflict ORDER BY kind, key")
        more = (f"two versions: ... and {len(rows) - SHOWN:,} more",) if len(rows) > SHOWN else ()
        lines = (*(f"two versions: {kind} {key}" for kind, key in rows[:SHOWN]), *more)
        if prefer is None and (made := [row for row in rows if not is_judgement(row[0])]):
            error = StoreError(
                f"{counted(len(made), 'key')} have other content there, changed in both stores "
                f"(first: {made[0][0]} {made[0][1]}); nothing was merged",
                where=str(self._other),
                fix="say --keep theirs or --keep ours",
            )
            error.lines = lines
            raise error
        column = "ours" if prefer == "theirs" else "theirs"
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE loser AS SELECT {column} AS id FROM conflict")
        return len(rows), lines

    def _sources(self) -> None:
        if not {"sources", "source_items"} <= self._tables:
            return
        make_tables(self._db)
        columns = "name, file, digest, named, imported_at"
        self._db.execute(
            f"INSERT INTO sources SELECT {columns} FROM theirs.sources WHERE name NOT IN (SELECT name FROM sources)"
        )
        self._db.execute(
            """INSERT INTO source_items SELECT t.source, t.kind, t.key, t.id FROM theirs.source_items t
               ANTI JOIN source_items m ON m.source = t.source AND m.kind = t.kind AND m.key = t.key"""
        )

    def _origins(self) -> None:
        """Theirs for what has none here, and for what is stale here."""
        if "origins" in self._tables:
            self._db.execute(
                """DELETE FROM origins WHERE item IN (SELECT item FROM theirs.origins) AND item IN
                     (SELECT o.item FROM origins o JOIN records r ON r.id = o.origin WHERE NOT r.current)"""
            )
            self._db.execute("INSERT INTO origins SELECT t.* FROM theirs.origins t ANTI JOIN origins m USING (item)")
        fill_origins(self._db)
