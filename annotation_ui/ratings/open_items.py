"""What is still open for a person, and what is answered: asked of the file, so that no answer is read for it."""

from __future__ import annotations

from annotation_ui.ratings.database import RatingsDB, usable_seconds
from annotation_ui.ratings.records import Assignment

_OPEN = (
    "FROM assignments a WHERE a.campaign = ?1 AND a.person = ?2 "
    "AND NOT EXISTS (SELECT 1 FROM skips s WHERE (s.campaign, s.person, s.item) = (?1, ?2, a.item)) "
    "AND coalesce((SELECT r.answers IS NULL FROM revisions r WHERE (r.campaign, r.person, r.item) = (?1, ?2, a.item) "
    "ORDER BY r.id DESC LIMIT 1), 1)"
)


def next_item(db: RatingsDB, campaign: str, person: str) -> Assignment | None:
    """The first item in a person's order that is neither answered nor skipped; None where all is done."""
    row = db.connection.execute(
        f"SELECT a.* {_OPEN} ORDER BY a.batch, a.position LIMIT 1", [campaign, person]
    ).fetchone()
    return Assignment(row["person"], row["item"], row["batch"], row["position"]) if row else None


def has_open_items(db: RatingsDB, campaign: str, person: str) -> bool:
    """Whether a person has anything left to do."""
    return db.connection.execute(f"SELECT 1 {_OPEN} LIMIT 1", [campaign, person]).fetchone() is not None


def answered_items(db: RatingsDB, campaign: str, person: str) -> dict[str, float | None]:
    """The items that a person has answered, in order of saving, with the seconds taken (None where they cannot be)."""
    rows = db.connection.execute(
        "SELECT item, seconds FROM revisions WHERE id IN (SELECT max(id) FROM revisions WHERE campaign = ? "
        "AND person = ? GROUP BY item) AND answers IS NOT NULL ORDER BY id",
        [campaign, person],
    )
    return {r["item"]: usable_seconds(r["seconds"]) for r in rows.fetchall()}
