"""What each derived record was made from, by content, and which records are stale: made from content that changed.

The table ``origins`` has one row for each derived record and each record that it was made from, directly or not:
a prompt was made from its script, its question and its fact. The rows are written when the record is stored, and
written anew when it is stored again. A verdict or rating was made from whatever the judged record was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from schemas.core.errors import StoreError
from schemas.core.records import Record
from schemas.text.counting import counted

MADE_FROM: dict[str, tuple[tuple[str, str], ...]] = {
    "question": (("fact", "fact"),),
    "neighbour": (("fact", "edit"), ("fact", "fact")),
    "extra": (("", "subject_key"),),
    "fact_question": (("event", "event"),),
    "tendency_question": (("event", "event"),),
    "document_probe": (("document", "document"),),
    "simplified_fact": (("document", "document"),),
    "script": (("question", "question"),),
    "generated": (("question", "question"),),
    "open_answer": (("tendency_question", "question"),),
    "prompt": (("fact", "fact"), ("question", "question"), ("script", "script")),
    "verdict": (("id", "item_id"),),
    "rating": (("id", "item_id"),),
}
"""For each derived kind: the kinds of its origins (empty: any) and their fields. The first is the parent."""
_STORED = {"subject_key": "of"}
_LEVELS = (
    ("question", "neighbour", "extra", "fact_question", "tendency_question", "document_probe", "simplified_fact"),
    ("script", "generated", "open_answer"),
    ("prompt",),
)
ROOTS = ("fact", "event", "document")
JUDGEMENTS = ("verdict", "rating")
BROUGHT = ("load", "import", "adopt")
"""Stages of the lineage of what a person brought; other records were made here and can be made again."""

_MADE_BY = {
    "fact_question": "data construct-events",
    "tendency_question": "data construct-events",
    "document_probe": "data construct-documents",
    "simplified_fact": "data import",
}
"""The command that makes records of a kind; construct makes the others."""

_STALE = f"""
  WITH former AS (SELECT r.id, r.kind, r.key, EXISTS (
      SELECT 1 FROM records n WHERE n.kind = r.kind AND n.key = r.key AND n.current) AS replaced
    FROM records r WHERE NOT r.current AND r.kind NOT IN {JUDGEMENTS}),
  hit AS (SELECT o.item, string_agg(DISTINCT f.key, ' ' ORDER BY f.key) AS origins,
      bool_or(f.kind IN {ROOTS} AND NOT f.replaced) AS gone
    FROM origins o JOIN former f ON f.id = o.origin GROUP BY o.item)
  SELECT r.kind, r.key, r.id, h.origins FROM records r JOIN hit h ON h.item = r.id
  WHERE r.current AND NOT h.gone AND (r.kind NOT IN {JUDGEMENTS} OR NOT EXISTS (
    SELECT 1 FROM (SELECT r.parent AS id UNION ALL SELECT unnest(CAST(r.body->'$.related' AS VARCHAR[]))) judged
    WHERE (judged.id = r.parent OR contains(r.key, '~' || judged.id))
      AND judged.id NOT IN (SELECT id FROM records WHERE current)))"""
"""A judgement of an item, or of a pair of items that its key names, says nothing any more when one of them is gone."""


class StaleItem(NamedTuple):
    """A current record that was made from content that has changed: its kind, key and id, and the changed keys."""

    kind: str
    key: str
    id: str
    origins: str

    @property
    def text(self) -> str:
        """One line for a list."""
        return f"stale: {self.kind} {self.key}: made from an earlier version of {self.origins}"


class StaleError(StoreError):
    """Records are stale; ``lines`` list the first of them."""

    def __init__(self, items: Sequence[StaleItem], where: str) -> None:
        self.lines = tuple(list_stale(items))
        made = [item.kind for item in items if item.kind not in JUDGEMENTS]
        again = "judge them again: scedit store check"
        if items[0].kind == "rating" or "/person:" in items[0].key:
            again = "have people judge them again"
        if made:
            again = f"make them again: scedit {_MADE_BY.get(made[0], 'construct')}"
        origin = items[0].origins.split()[0]
        super().__init__(
            f"{counted(len(items), 'record was', 'records were')} made from content that has changed since "
            f"(first: {items[0].kind} {items[0].key})",
            where=where,
            fix=f"{again}; or, if they are right for the new content: scedit store confirm {origin}",
        )


def list_stale(items: Sequence[StaleItem]) -> list[str]:
    """The first ten lines of the list, and how many more there are."""
    more = [f"stale: ... and {len(items) - 10:,} more"] if len(items) > 10 else []
    return [item.text for item in items[:10]] + more


def origin_rows(records: Iterable[Record]) -> Iterator[tuple[str, str, str, str]]:
    """(id, kind, kind of an origin, its key or id) for every direct origin of derived records."""
    for record in records:
        for kind, field in MADE_FROM.get(record.kind, ()):
            if key := getattr(record, field):
                yield record.id, record.kind, kind, key
        for key in getattr(record, "depends_on", ()):
            yield record.id, record.kind, "", key
        for item in getattr(record, "related", ()):
            yield record.id, record.kind, "link", item


def stamp(db: Any) -> None:
    """Write the origins of the records whose direct origins are in the temporary table ``derived``."""
    db.execute("DELETE FROM origins WHERE item IN (SELECT item FROM derived)")
    for kinds in _LEVELS:
        db.execute(
            f"""INSERT INTO origins WITH direct AS (
                  SELECT DISTINCT d.item, r.id AS origin FROM derived d JOIN records r ON r.key = d.origin
                    AND (r.kind = d.origin_kind OR (d.origin_kind = '' AND r.kind IN {ROOTS}))
                  WHERE r.current AND d.kind IN ('{"', '".join(kinds)}'))
                SELECT item, origin FROM direct
                UNION SELECT d.item, o.origin FROM direct d JOIN origins o ON o.item = d.origin"""
        )
    db.execute(
        f"""INSERT INTO origins SELECT DISTINCT d.item, o.origin FROM derived d JOIN origins o ON o.item = d.origin
            WHERE d.origin_kind = 'id' OR (d.origin_kind = 'link' AND d.origin IN
              (SELECT id FROM records WHERE kind = 'neighbour'))
            UNION SELECT d.item, d.origin FROM derived d JOIN records r ON r.id = d.origin
            WHERE d.origin_kind = 'link' AND r.kind IN {ROOTS}"""
    )


def make_origins(db: Any, *, temporary: bool = False) -> None:
    """Make the table for a store that lacks it; ``temporary``: in memory, for a connection that only reads."""
    kind = "TEMP TABLE" if temporary else "TABLE"
    db.execute(f"CREATE {kind} origins (item VARCHAR NOT NULL, origin VARCHAR NOT NULL)")
    fill_origins(db)


def fill_origins(db: Any) -> None:
    """Write the origins of current records that have none, as a store of an earlier version: by lineage, else by key.

    Lineage names the content that a record was made from; of several acts the last one counts.
    """
    db.execute("CREATE OR REPLACE TEMP TABLE derived (item VARCHAR, kind VARCHAR, origin_kind VARCHAR, origin VARCHAR)")
    for kind, fields in MADE_FROM.items():
        for origin_kind, field in fields:
            value = f"body->>'$.{_STORED.get(field, field)}'"
            db.execute(
                f"""INSERT INTO derived SELECT id, kind, '{origin_kind}', {value} FROM records
                    WHERE kind = '{kind}' AND current AND {value} IS NOT NULL
                      AND id NOT IN (SELECT item FROM origins)"""
            )
    stamp(db)
    db.execute(
        """INSERT INTO origins WITH act AS (
             SELECT item_id, arg_max(body, made_at) AS body FROM lineage
             WHERE item_id IN (SELECT item FROM derived WHERE origin_kind <> 'id') GROUP BY item_id),
           parent AS (SELECT item_id, unnest(CAST(body->'$.parents' AS VARCHAR[])) AS id FROM act)
           SELECT DISTINCT p.item_id, p.id FROM parent p JOIN records r ON r.id = p.id AND NOT r.current"""
    )
    db.execute("DROP TABLE derived")


def stale_items(db: Any, *, root: str | None = None, prefix: str = "") -> list[StaleItem]:
    """Current records that were made from content that has changed, in order of kind and key.

    Args:
        db: The store.
        root: Only what was made from records of this kind (``fact``, ``event``, ``document``).
        prefix: Only what was made from records whose key begins so, or from their neighbours.
    """
    if not _has_former(db):
        return []
    if not db.execute("SELECT 1 FROM information_schema.tables WHERE table_name = 'origins'"):
        make_origins(db, temporary=True)
    sql, values = _STALE, list[str]()
    if root is not None:
        sql += """ AND r.id IN (SELECT o.item FROM origins o JOIN records f ON f.id = o.origin
          WHERE f.kind = $1 AND (starts_with(f.key, $2) OR f.key IN
            (SELECT fact FROM neighbours WHERE starts_with(edit, $2))))"""
        values = [root, prefix]
    return [StaleItem(*row) for row in db.execute(f"{sql} ORDER BY 1, 2", values)]


def retire_remade(db: Any, keys: Sequence[str]) -> None:
    """End stale records that were made here from facts, events or documents with these keys, which were made anew."""
    if not keys or not _has_former(db):
        return
    db.execute(
        f"""UPDATE records SET current = false WHERE id IN (SELECT s.id FROM ({_STALE}) s
              WHERE s.kind NOT IN {JUDGEMENTS} AND s.id IN (SELECT o.item FROM origins o JOIN records f
                ON f.id = o.origin WHERE f.kind IN {ROOTS} AND f.key IN (SELECT unnest(?::VARCHAR[])))
              AND s.id NOT IN (SELECT item_id FROM lineage WHERE stage IN {BROUGHT}))""",
        [list(keys)],
    )


def _has_former(db: Any) -> bool:
    sql = f"SELECT 1 FROM records WHERE NOT current AND kind NOT IN {JUDGEMENTS} LIMIT 1"
    return bool(db.execute(sql))
