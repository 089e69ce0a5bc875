"""What is open for a person, what was skipped with a reason, and drafts: what was typed and not saved yet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from annotation_ui.ratings.database import Assignment, RatingsDB
from annotation_ui.tasks.forms import COMMENT_LENGTH, Form
from schemas.core.clock import now
from schemas.core.errors import UserError

_NEXT = (
    "SELECT a.* FROM assignments a WHERE a.campaign = ?1 AND a.person = ?2 "
    "AND NOT EXISTS (SELECT 1 FROM skips s WHERE (s.campaign, s.person, s.item) = (?1, ?2, a.item)) "
    "AND coalesce((SELECT r.answers IS NULL FROM revisions r WHERE (r.campaign, r.person, r.item) = (?1, ?2, a.item) "
    "ORDER BY r.id DESC LIMIT 1), 1) ORDER BY a.batch, a.position LIMIT 1"
)


def next_item(db: RatingsDB, campaign: str, person: str) -> Assignment | None:
    """The first item in a person's order that is neither answered nor skipped; None where all is done."""
    row = db.connection.execute(_NEXT, [campaign, person]).fetchone()
    return Assignment(row["person"], row["item"], row["batch"], row["position"]) if row else None


def answered_items(db: RatingsDB, campaign: str, person: str) -> dict[str, float | None]:
    """The items that a person has answered, in order of saving, with the seconds taken (None where they cannot be)."""
    return {r.item: r.seconds for r in db.current_answers(campaign, person=person)}


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
        if item in answered_items(db, campaign, person):
            raise UserError(f"the item '{item}' has an answer", where=campaign, fix="correct the answer instead")
        file.execute(
            "INSERT OR REPLACE INTO skips VALUES (?, ?, ?, ?, ?, ?)", [*where, words, seconds, now("milliseconds")]
        )
        file.execute("DELETE FROM drafts WHERE campaign = ? AND person = ? AND item = ?", where)


def skipped_items(db: RatingsDB, campaign: str, person: str) -> dict[str, str]:
    """What a person skipped, with the reason, in order of time."""
    return {item: reason for (who, item), reason in skips_of_campaign(db, campaign).items() if who == person}


def skips_of_campaign(db: RatingsDB, campaign: str) -> dict[tuple[str, str], str]:
    """All skips of a campaign: reasons by person and item."""
    rows = db.connection.execute(
        "SELECT person, item, reason FROM skips WHERE campaign = ? ORDER BY saved_at, rowid", [campaign]
    )
    return {(r["person"], r["item"]): r["reason"] for r in rows.fetchall()}


def keep_draft(db: RatingsDB, campaign: str, person: str, item: str, answers: Mapping[str, Any], form: Form) -> None:
    """Keep a draft in place of the earlier one; what is not of the form is left out, an empty one is forgotten.

    Raises:
        UserError: the item is not assigned to this person.
        StoreError: the file cannot be written.
    """
    known = readable_draft(answers, form)
    with db.write_transaction() as file:
        where = [campaign, person, item]
        db.check_assigned(campaign, person, item)
        saved = db.history(campaign, person=person, item=item)[-1:]
        if known and [r.answers for r in saved] != [form.clean(known)]:  # what a browser sends late is saved already
            body = json.dumps(known, ensure_ascii=True)
            file.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?, ?, ?, ?)", [*where, body, now("milliseconds")])
        else:
            file.execute("DELETE FROM drafts WHERE campaign = ? AND person = ? AND item = ?", where)


def read_draft(db: RatingsDB, campaign: str, person: str, item: str, form: Form) -> dict[str, Any]:
    """What was typed for an item and not saved; empty where there is nothing."""
    row = db.connection.execute(
        "SELECT answers FROM drafts WHERE campaign = ? AND person = ? AND item = ?", [campaign, person, item]
    ).fetchone()
    try:
        answers = json.loads(row["answers"]) if row else {}
    except (TypeError, ValueError, RecursionError):
        return {}
    return readable_draft(answers, form) if isinstance(answers, dict) else {}


def readable_draft(answers: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """The answers that the form can show again; a comment that is too long to be saved is cut."""
    out = {}
    for field in form.fields:
        value = answers.get(field.name)
        if field.kind == "text" and isinstance(value, str):
            value = value.encode("utf-8", "ignore").decode("utf-8")[:COMMENT_LENGTH]
        if value not in (None, "", [], ()) and not field.fault(value):
            out[field.name] = value
    return out
