"""Facts that say different things of one subject and relation: kept, and listed wherever somebody looks."""

from __future__ import annotations

from typing import NamedTuple

from curation.store.connection import Connection
from curation.store.writer import count

_FACTS = """WITH f AS (SELECT key, lower(body->>'$.subject.text') AS subject, body->>'$.relation.id' AS relation,
  body->>'$.old.text' AS old, body->>'$.new.text' AS new FROM records
  WHERE kind = 'fact' AND current AND body->>'$.change' <> 'temporal')
SELECT a.key, b.key, a.old, b.old, a.new, b.new FROM f a JOIN f b ON a.subject = b.subject AND a.relation = b.relation
WHERE a.key <> b.key AND (lower(a.old) <> lower(b.old) OR lower(a.new) <> lower(b.new))"""


class Contradiction(NamedTuple):
    """Two facts of one subject and relation whose old or new objects differ; temporal ones only follow each other."""

    key: str
    other: str
    old: str
    other_old: str
    new: str | None
    other_new: str | None

    @property
    def text(self) -> str:
        """The contradiction in words.

        Example:
            >>> Contradiction("a", "b", "Lima", "Cusco", "Oslo", None).text
            "'b' says 'Cusco' for this subject and relation, this one 'Lima'"
        """
        if self.old.casefold() != self.other_old.casefold():
            return f"'{self.other}' says '{self.other_old}' for this subject and relation, this one '{self.old}'"
        return f"'{self.other}' edits this subject and relation to '{self.other_new}', this one to '{self.new}'"


def contradictions_of(db: Connection, key: str, *, limit: int = 9) -> list[Contradiction]:
    """What current facts of a store say against one of them, in order of their keys."""
    rows = db.execute(f"{_FACTS} AND a.key = ? ORDER BY b.key LIMIT {limit}", [key]).fetchall()
    return [Contradiction(*row) for row in rows]


def with_others(db: Connection) -> list[Contradiction]:
    """What facts that just arrived (``PendingRows``) say against those of other sources: one for each that arrived."""
    others = "SELECT 1 FROM arrived x WHERE x.kind = 'fact' AND x.key = {}.key"
    if not count(
        db, f"SELECT count(*) FROM records r WHERE kind = 'fact' AND current AND NOT EXISTS ({others.format('r')})"
    ):
        return []
    rows = db.execute(
        f"SELECT DISTINCT ON (1) * FROM ({_FACTS} AND EXISTS ({others.format('a')}) AND NOT EXISTS "
        f"({others.format('b')})) found(a, b, c, d, e, f) ORDER BY 1, 2"
    ).fetchall()
    return [Contradiction(*row) for row in rows]
