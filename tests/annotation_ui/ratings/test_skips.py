"""Skips: neither an answer nor open, replaced by an answer, and never in place of one."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import assign_items, rater_progress, waiting_for
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item, skip_item, skipped_items
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.conftest import TASK, answer, work


def test_a_skipped_item_is_not_open_and_counts_as_no_answer(db: RatingsDB, store: Store) -> None:
    pilot(db, store, "ann", "bob", task=TASK)
    first = next_item(db, "pilot", "ann")
    assert first is not None
    skip_item(db, "pilot", "ann", first.item, "broken: \ud800half", seconds=3.0)
    skip_item(db, "pilot", "ann", first.item, "other: é" + "x" * 5000)
    assert len(skipped_items(db, "pilot", "ann")[first.item]) == 1000
    assert next_item(db, "pilot", "ann") != first and skipped_items(db, "pilot", "bob") == {}
    work(db, "pilot", "ann")
    assert next_item(db, "pilot", "ann") is None
    (ann, _) = rater_progress(db, "pilot")
    assert (ann.done, ann.skipped, ann.assigned) == (11, 1, 12)
    people.invite(db, "cho")
    assign_items(db, "pilot")
    assert first.item in {a.item for a in db.assignments("pilot", "ann")}, "it is not dealt to somebody else unseen"
    db.save("pilot", "ann", first.item, answer(1), form=db.campaign("pilot").form)
    assert skipped_items(db, "pilot", "ann") == {} and rater_progress(db, "pilot")[0].done == 12
    with pytest.raises(UserError, match="has an answer"):
        skip_item(db, "pilot", "ann", first.item, "broken")


@pytest.mark.parametrize(("person", "reason", "words"), [("bob", "broken", "not assigned"), ("ann", "bored", "reason")])
def test_what_cannot_be_skipped_is_refused(db: RatingsDB, store: Store, person: str, reason: str, words: str) -> None:
    pilot(db, store, "ann")
    people.invite(db, "bob")
    with pytest.raises(UserError, match=words):
        skip_item(db, "pilot", person, db.assignments("pilot")[0].item, reason)


def test_a_group_goes_on_after_skips_and_a_deleted_person_leaves_none(db: RatingsDB, store: Store) -> None:
    pilot(db, store, "ann", task="rate_executability", name="exec", group="paper")
    pilot(db, store, "ann", name="rest", group="paper")
    for a in db.assignments("exec", "ann"):
        assert waiting_for(db, db.campaign("rest"), "ann") == "exec"
        skip_item(db, "exec", "ann", a.item, "language")
    assert waiting_for(db, db.campaign("rest"), "ann") is None
    people.delete_rater(db, "ann")
    assert db.connection.execute("SELECT count(*) FROM skips").fetchone()[0] == 0
