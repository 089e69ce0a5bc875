"""What a person chose for the look of the app, kept with the account: it is there on another device."""

from __future__ import annotations

from annotation_ui.ratings.database import RatingsDB
from schemas.core.errors import UserError

NAMES = ("language", "highlight", "auto_save")
IDENTITY = tuple(
    f"identity/{name}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "workerId", "assignmentId", "hitId")
)
"""Who a crowd service says the person is; see ``annotation_ui.ratings.invitations``."""
LONGEST, LONGEST_IDENTITY = 20, 64  # characters of a value


def keep_preference(db: RatingsDB, person: str, name: str, value: str) -> None:
    """Keep a choice in place of the earlier one.

    Raises:
        UserError: there is nothing of this name to choose, or the value is too long to be one.
        StoreError: the file cannot be written.
    """
    if name not in (*NAMES, *IDENTITY) or len(value) > (LONGEST if name in NAMES else LONGEST_IDENTITY):
        raise UserError(f"'{name}' cannot be set to '{value[:40]}'", allowed=", ".join(NAMES))
    with db.write_transaction() as file:
        file.execute("INSERT OR REPLACE INTO preferences VALUES (?, ?, ?)", [person, name, value])


def read_preferences(db: RatingsDB, person: str) -> dict[str, str]:
    """All choices of a person."""
    rows = db.connection.execute("SELECT name, value FROM preferences WHERE person = ?", [person])
    return {r["name"]: r["value"] for r in rows.fetchall()}
