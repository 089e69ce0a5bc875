"""Items that a person could not judge, with the reason: neither an answer nor open any more."""

from __future__ import annotations

from annotation_ui.ratings.database import RatingsDB
from schemas.core.clock import now
from schemas.core.errors import UserError

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
