"""Drafts: what somebody has typed and not saved yet, kept so that a reload or a second tab finds it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.forms import COMMENT_LENGTH, Form
from schemas.core.clock import now


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
        row = file.execute(
            "SELECT answers FROM revisions WHERE campaign = ? AND person = ? AND item = ? ORDER BY id DESC LIMIT 1",
            where,
        ).fetchone()
        saved = row is not None and row["answers"] == json.dumps(form.clean(known), ensure_ascii=False)
        if known and not saved:  # what a browser sends late is saved already
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
