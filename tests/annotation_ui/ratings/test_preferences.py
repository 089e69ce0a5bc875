"""Preferences: kept with the account, and only those that there are."""

from __future__ import annotations

import pytest

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import keep_preference, read_preferences
from schemas.core.errors import UserError


def test_the_latest_choice_of_each_person_is_kept(db: RatingsDB) -> None:
    for name in ("ann", "bob"):
        people.invite(db, name)
    for value in ("de", "en"):
        keep_preference(db, "ann", "language", value)
    keep_preference(db, "bob", "highlight", "no")
    assert (read_preferences(db, "ann"), read_preferences(db, "bob")) == ({"language": "en"}, {"highlight": "no"})
    people.delete_rater(db, "ann")
    assert read_preferences(db, "ann") == {}


@pytest.mark.parametrize(("name", "value"), [("colour", "red"), ("language", "x" * 65)])
def test_what_cannot_be_chosen_is_refused(db: RatingsDB, name: str, value: str) -> None:
    with pytest.raises(UserError, match="cannot be set"):
        keep_preference(db, "ann", name, value)
