"""What every page gets: the ratings file, who looks, and where the lead finds the store's snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import RaterAccount

COOKIE = "scedit_session"


class PageContext(NamedTuple):
    """One person's context.

    Attributes:
        db: The ratings file.
        person: Who looks, as the server found out.
        token: Their session.
        store: A snapshot of the store, never the store itself, which one process may hold; None where none is given.
    """

    db: RatingsDB
    person: RaterAccount
    token: str
    store: Path | None
