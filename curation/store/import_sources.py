"""Which source brought which records: what a key means is decided by content and source, never by the last file alone.

Two tables keep it, made at the first import that needs them: ``sources`` (a name, the file, its digest) and
``source_items`` (kind, key and id of everything that a source brought last). Records that a former version of this
program imported are in neither: they belong to an unnamed earlier source.
"""

from __future__ import annotations

from typing import NamedTuple

from curation.store.connection import Connection
from curation.store.origins import BROUGHT
from curation.store.writer import PendingRows, PutResult
from schemas.core.clock import now
from schemas.core.errors import StoreError
from schemas.text.counting import counted

EARLIER = "an unnamed earlier source"
MADE_HERE = "this store, which made it"
_GONE = 0.1  # of what a source brought: more is gone only where that is said
SHOWN = 10  # conflicts and keys that are listed


class ImportSource(NamedTuple):
    """Where records come from: the identity under which they can be corrected later.

    Attributes:
        name: Its name in the store.
        file: The file or split as it was given when the source came first.
        digest: Of the file's bytes and of how it was read.
        named: Whether a person gave the name; else it is made of file name and digest.
        option: The option of the command that gives the name, for advice.
    """

    name: str
    file: str
    digest: str
    named: bool
    option: str = "--source"


class KeyConflict(NamedTuple):
    """A key that means another thing already, and who says so."""

    kind: str
    key: str
    holder: str


class SourceUpdate(NamedTuple):
    """What a source changed in a store, counted in keys.

    Attributes:
        put: Records seen, new by content, and keys whose current version changed.
        source: The source's name in the store.
        new: Keys that were not there.
        changed: Keys with another content than before.
        gone: Keys that the source held before and holds no more; their records are kept as earlier versions.
        set_aside: Records that hung on replaced facts which state something else now, kept as earlier versions too.
        taken: Keys that were taken over from others (``replace``).
        gone_keys: The first keys that are gone or set aside.
        changed_keys: The first keys with another content than before.
    """

    put: PutResult
    source: str
    new: int
    changed: int
    gone: int
    set_aside: int
    taken: int
    gone_keys: tuple[str, ...]
    changed_keys: tuple[str, ...]


class ConflictError(StoreError):
    """Keys of ``file`` that another source uses for other content; ``conflicts`` are the first of them."""

    def __init__(self, source: ImportSource, conflicts: tuple[KeyConflict, ...], number: int, where: str) -> None:
        self.conflicts, self.number, self.file = conflicts, number, source.file
        first = conflicts[0]
        holder = first.holder if first.holder in (EARLIER, MADE_HERE) else f"'{first.holder}'"
        fix = "say --replace to replace these records alone, or --as NAME to keep both"
        if first.holder not in (EARLIER, MADE_HERE):
            fix += f"; {source.option} '{first.holder}' where the file corrects all that this source brought"
        super().__init__(
            f"{counted(number, 'record')} of '{source.name}' would take the place of others with the same key and "
            f"other content (first: {first.kind} {first.key}, held by {holder}); "
            "nothing was imported",
            where=where,
            fix=fix,
        )
        more = (f"... and {number - len(conflicts):,} more",) if number > len(conflicts) else ()
        self.lines = (*(f"conflict: {c.kind} {c.key}: held by {c.holder}" for c in conflicts), *more)


def known_name(db: Connection, source: ImportSource) -> ImportSource:
    """The source under the name that a person gave the same file before, where it has none now."""
    if source.named or not has_sources(db):
        return source
    ((name,),) = db.execute("SELECT min(name) FROM sources WHERE digest = ? AND named", [source.digest])
    return source._replace(name=str(name), named=True) if name else source


def first_file(db: Connection, source: ImportSource) -> str | None:
    """The file that a source, or another source of the same content, came from first: keys made of its name stay.

    None where the source is new.
    """
    if not has_sources(db):
        return None
    sql = "SELECT file FROM sources WHERE name = $1 OR digest = $2 ORDER BY name <> $1, imported_at, name LIMIT 1"
    rows = db.execute(sql, [source.name, source.digest])
    return str(rows[0][0]) if rows and rows[0][0] else None


def has_sources(db: Connection) -> bool:
    """Whether anything was ever imported by a version that knows sources."""
    sql = "SELECT count(*) FROM information_schema.tables WHERE table_name IN ('sources', 'source_items')"
    return db.count(sql) == 2


def make_tables(db: Connection) -> None:
    """The two tables, where they are not there."""
    db.execute(
        "CREATE TABLE IF NOT EXISTS sources "
        "(name VARCHAR NOT NULL, file VARCHAR, digest VARCHAR, named BOOLEAN NOT NULL, imported_at VARCHAR NOT NULL)"
    )
    db.execute(
        "CREATE TABLE IF NOT EXISTS source_items "
        "(source VARCHAR NOT NULL, kind VARCHAR NOT NULL, key VARCHAR NOT NULL, id VARCHAR NOT NULL)"
    )


def finish_import(
    db: Connection,
    source: ImportSource,
    rows: PendingRows,
    *,
    replace: bool,
    whole: bool,
    kind: str | None,
    shrink: bool,
    where: str,
) -> SourceUpdate:
    """After all records of a source came, inside the same transaction: refuse conflicts, set aside what is gone.

    Args:
        db: The store.
        source: Who brought them.
        rows: What took the records in, with ``watch``.
        replace: Take over keys of other sources.
        whole: Whether the source was read to its end; only then is what did not come gone.
        kind: The only kind of record that came; other kinds stay. None: all kinds.
        shrink: More than a tenth of what the source brought before may be gone.
        where: The store's path, for the error.

    Raises:
        ConflictError: keys of others have another content now, and ``replace`` was not said.
        StoreError: too much would be gone.
    """
    put = rows.done()
    conflicts = _find_conflicts(db, source.name)
    if conflicts and not replace:
        found = db.execute(
            f"""SELECT kind, key, holder, EXISTS (SELECT 1 FROM lineage l WHERE l.item_id = c.id
                AND l.stage IN {BROUGHT}) FROM conflict c ORDER BY kind <> 'fact', key LIMIT {SHOWN}"""
        )
        named = tuple(KeyConflict(k, key, who or (EARLIER if came else MADE_HERE)) for k, key, who, came in found)
        raise ConflictError(source, named, conflicts, where)
    aside = _set_aside(db) if conflicts else 0
    db.execute(
        "DELETE FROM source_items i USING conflict c WHERE i.source <> $1 AND i.kind = c.kind AND i.key = c.key",
        [source.name],
    )
    held = db.count("SELECT count(DISTINCT (kind, key)) FROM source_items WHERE source = ?", [source.name])
    gone = _retire(db, source.name, kind) if whole else 0
    if gone > held * _GONE and not shrink:
        raise StoreError(
            f"{gone:,} of {counted(held, 'record')} that '{source.name}' brought would be gone; nothing was imported",
            where=where,
            fix=f"--yes if that is meant; to correct some records alone: --replace without {source.option}",
        )
    gone_keys, changed_keys = _first_keys(db, "retired"), _first_keys(db, "superseded")
    _remember(db, source, whole=whole, kind=kind)
    changed = db.count("SELECT count(DISTINCT (kind, key)) FROM superseded")
    known = db.count("SELECT count(DISTINCT (kind, key)) FROM superseded WHERE known")
    new = put.new - (changed - known) + rows.revived
    return SourceUpdate(put, source.name, new, changed, gone, aside, conflicts, gone_keys, changed_keys)


def _first_keys(db: Connection, table: str) -> tuple[str, ...]:
    rows = db.execute(f"SELECT DISTINCT kind, key FROM {table} ORDER BY key, kind LIMIT {SHOWN}")
    return tuple(key for _, key in rows)


def list_sources(db: Connection) -> list[dict[str, object]]:
    """Every source by name, with its file and the number of records that it holds now."""
    if not has_sources(db):
        return []
    rows = db.execute(
        "SELECT s.name, s.file, s.imported_at, count(i.key) FROM sources s "
        "LEFT JOIN source_items i ON i.source = s.name GROUP BY ALL ORDER BY 1"
    )
    return [dict(zip(("source", "file", "imported_at", "records"), row, strict=True)) for row in rows]


def _find_conflicts(db: Connection, name: str) -> int:
    """Fill ``conflict`` with the keys that somebody else holds with another content; ``retired`` is made empty."""
    db.execute(
        """CREATE OR REPLACE TEMP TABLE conflict AS
           SELECT s.kind, s.key, min(s.id) AS id, min(i.source) AS holder FROM superseded s
           LEFT JOIN source_items i ON i.kind = s.kind AND i.key = s.key AND i.source <> $1 AND i.id <> s.new
           LEFT JOIN source_items o ON o.kind = s.kind AND o.key = s.key AND o.source = $1
           WHERE s.id NOT IN (SELECT id FROM arrived) AND (i.source IS NOT NULL OR o.source IS NULL) GROUP BY ALL""",
        [name],
    )
    db.execute("CREATE OR REPLACE TEMP TABLE retired (kind VARCHAR, key VARCHAR)")
    return db.count("SELECT count(*) FROM conflict")


_STATEMENT = ", ".join(f"{{}}.body->>'$.{field}'" for field in ("subject.text", "prompt", "old.text", "new.text"))


def _set_aside(db: Connection) -> int:
    """Archive what hung on replaced facts that state something else now, made or imported.

    Where the statement is the same (an alias was added), or where a question or a prompt was replaced, nothing is
    archived: what depends on the former content is stale (``curation.store.origins``).
    """
    former, latter = (_STATEMENT.format(*[table] * 4) for table in ("r", "n"))
    db.execute(
        f"""INSERT INTO retired WITH roots AS (
             SELECT r.key FROM conflict c JOIN records r ON r.id = c.id AND r.kind = 'fact'
             JOIN superseded s ON s.id = r.id JOIN records n ON n.id = s.new
             WHERE row({former}) IS DISTINCT FROM row({latter})),
           below AS (SELECT r.kind, r.key FROM records r JOIN roots t ON r.parent = t.key
             WHERE r.current AND r.kind IN ('question', 'prompt', 'neighbour', 'extra')
             UNION SELECT r.kind, r.key FROM records q JOIN roots t ON q.kind = 'question' AND q.parent = t.key
             JOIN records r ON r.kind = 'script' AND r.parent = q.key AND r.current)
           SELECT kind, key FROM below b
           WHERE NOT EXISTS (SELECT 1 FROM arrived a WHERE a.kind = b.kind AND a.key = b.key)"""
    )
    db.execute("INSERT INTO conflict SELECT kind, key, '', NULL FROM retired")
    db.execute(
        "UPDATE records SET current = false FROM retired t "
        "WHERE records.kind = t.kind AND records.key = t.key AND records.current"
    )
    return db.count("SELECT count(*) FROM retired")


def _retire(db: Connection, name: str, kind: str | None) -> int:
    """What the source held before and did not bring again is no longer current, unless another source holds it."""
    if not db.count("SELECT count(*) FROM source_items WHERE source = ?", [name]):
        return 0
    db.execute(
        """CREATE OR REPLACE TEMP TABLE gone AS SELECT o.kind, o.key, o.id FROM source_items o
           WHERE o.source = $1 AND o.kind = coalesce($2, o.kind)
             AND NOT EXISTS (SELECT 1 FROM arrived a WHERE a.kind = o.kind AND a.key = o.key)
             AND NOT EXISTS (SELECT 1 FROM source_items t WHERE t.source <> $1 AND t.kind = o.kind AND t.key = o.key)
             AND EXISTS (SELECT 1 FROM records r WHERE r.id = o.id AND r.current)""",
        [name, kind],
    )
    db.execute("UPDATE records SET current = false FROM gone g WHERE records.id = g.id AND records.current")
    db.execute("INSERT INTO retired SELECT kind, key FROM gone")
    return db.count("SELECT count(*) FROM gone")


def _remember(db: Connection, source: ImportSource, *, whole: bool, kind: str | None) -> None:
    """Keep what the source holds now; the same file under a made name gives way to the name a person gave."""
    source = source._replace(file=first_file(db, source) or source.file)
    if source.named and whole:
        same = "SELECT name FROM sources WHERE digest = ? AND NOT named"
        db.execute(f"DELETE FROM source_items WHERE source IN ({same})", [source.digest])
        db.execute("DELETE FROM sources WHERE digest = ? AND NOT named", [source.digest])
    db.execute("DELETE FROM sources WHERE name = ?", [source.name])
    db.execute("INSERT INTO sources VALUES (?, ?, ?, ?, ?)", [*source[:4], now()])
    unless = "" if whole else " AND EXISTS (SELECT 1 FROM arrived a WHERE a.kind = i.kind AND a.key = i.key)"
    of_kind = "source = $1 AND kind = coalesce($2, kind)"
    db.execute(f"DELETE FROM source_items i WHERE {of_kind}{unless}", [source.name, kind])
    db.execute("INSERT INTO source_items SELECT DISTINCT ?, kind, key, id FROM arrived", [source.name])
