"""What every page gets: the ratings file, who looks, and where the lead finds the store's snapshot."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from annotation_ui.interface.texts import ENGLISH, interface_text, read_texts
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import RaterAccount


def cookie_name(ratings: Path) -> str:
    """The name of the session's cookie: one a ratings file, since cookies know a machine and not its ports."""
    return f"scedit_{hashlib.sha256(str(ratings.absolute()).encode()).hexdigest()[:12]}"


class PageContext(NamedTuple):
    """One person's context.

    Attributes:
        db: The ratings file.
        person: Who looks, as the server found out.
        token: Their session.
        store: A snapshot of the store, never the store itself, which one process may hold; None where none is given.
        language: Of the words around the forms.
    """

    db: RatingsDB
    person: RaterAccount
    token: str
    store: Path | None
    language: str = ENGLISH

    def say(self, key: str, **values: object) -> str:
        """A text of the interface in the person's language."""
        return interface_text(self.language, key, **values)

    def say_raw(self, key: str) -> str:
        """A text of the interface with its names in braces, for the browser to fill in."""
        return read_texts(self.language)[key]
