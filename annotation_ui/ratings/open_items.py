"""What is open for a person, what is answered, and what was skipped with a reason: asked of the file."""

from __future__ import annotations

from annotation_ui.ratings.database import RatingsDB, usable_seconds
from annotation_ui.ratings.records import Assignment
from schemas.core.clock import now
from schemas.core.errors import UserError

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


REASONS = ("broken", "language", "knowledge", "question", "distressing", "other")
LONGEST = 1000  # characters of the words beside a reason


def skip_item(
    db: RatingsDB, campaign: str, person: str, item: str, reason: str, *, seconds: float | None = None
) -> None:
    """Keep that a person cannot judge an item; a later reason replaces it, a later answer removes it.

    Args:
        db: The ratings file.
        campaign: Where the item belongs.
        person: Pseudonym.
        item: Content id.
        reason: One of ``REASONS``; words of one's own may follow it after a colon.
        seconds: Time on the item.

    Raises:
        UserError: the reason is none, the item is not assigned to this person, or is answered already.
        StoreError: the file cannot be written.
    """
    if reason.partition(":")[0] not in REASONS:
        raise UserError(f"'{reason[:40]}' is no reason to skip an item", allowed=", ".join(REASONS))
    words = reason.encode("utf-8", "ignore").decode("utf-8")[:LONGEST]
    where = [campaign, person, item]
    with db.write_transaction() as file:
        db.check_assigned(campaign, person, item)
        answer = file.execute(
            "SELECT answers FROM revisions WHERE campaign = ? AND person = ? AND item = ? ORDER BY id DESC LIMIT 1",
            where,
        ).fetchone()
        if answer is not None and answer["answers"] is not None:
            raise UserError(f"the item '{item}' has an answer", where=campaign, fix="correct the answer instead")
        file.execute(
            "INSERT OR REPLACE INTO skips VALUES (?, ?, ?, ?, ?, ?)", [*where, words, seconds, now("milliseconds")]
        )
        file.execute("DELETE FROM drafts WHERE campaign = ? AND person = ? AND item = ?", where)


def skipped_items(db: RatingsDB, campaign: str, person: str) -> dict[str, str]:
    """What a person skipped, with the reason, in order of time."""
    rows = db.connection.execute(
        "SELECT item, reason FROM skips WHERE campaign = ? AND person = ? ORDER BY saved_at, rowid", [campaign, person]
    )
    return {r["item"]: r["reason"] for r in rows.fetchall()}


def skips_of_campaign(db: RatingsDB, campaign: str) -> dict[tuple[str, str], str]:
    """All skips of a campaign: reasons by person and item."""
    rows = db.connection.execute(
        "SELECT person, item, reason FROM skips WHERE campaign = ? ORDER BY saved_at, rowid", [campaign]
    )
    return {(r["person"], r["item"]): r["reason"] for r in rows.fetchall()}
