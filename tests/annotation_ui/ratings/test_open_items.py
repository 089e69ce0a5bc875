"""What is open and what is answered, asked of the file, against the answers read one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import assign_items, rater_progress, waiting_for
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import Assignment, Campaign, CampaignItem, RatingsDB
from annotation_ui.ratings.open_items import keep_draft, next_item, read_draft, skip_item, skipped_items
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.conftest import TASK, answer, work

FORM = "rate_executability@3"
ITEMS = [f"{n:020x}" for n in range(5)]


def filled(db: RatingsDB) -> None:
    for person in ("ann", "bob"):
        people.invite(db, person)
    for name in ("one", "two"):
        db.add_campaign(Campaign(name, "rate_executability", FORM, {"overlap": 2, "batch": 3}, "2026"))
        items = [CampaignItem(TaskItem(id=i, case=i, shown={"script": "Step 1: Go"})) for i in ITEMS]
        order = list(enumerate(ITEMS))
        random.Random(name).shuffle(order)
        db.add_items(
            name, items, [Assignment(p, i, 1 + n // 3, n) for p in ("ann", "bob") for n, (_, i) in enumerate(order)]
        )


def test_the_next_item_is_that_of_the_slow_way(db: RatingsDB) -> None:
    filled(db)
    draw, visits = random.Random(3), set()
    for _ in range(150):
        name, person, item = draw.choice(["one", "two"]), draw.choice(["ann", "bob"]), draw.choice(ITEMS)
        answered_pairs = {r.item: r.seconds for r in db.current_answers(name, person=person)}
        if draw.random() < 0.3 and item not in answered_pairs:
            skip_item(db, name, person, item, "broken")
        else:  # an answer, or its withdrawal
            answers = {"executability": 3} if draw.random() < 0.5 else None
            db.save(name, person, item, answers, form=FORM, seconds=draw.choice([None, 2.5, -1.0, 0.0]))
        for other in ("one", "two"):
            for text in ("ann", "bob"):
                slow = {r.item: r.seconds for r in db.current_answers(other, person=text)}
                slows = {*slow, *skipped_items(db, other, text)}
                assignments = [a for a in db.assignments(other, text) if a.item not in slows]
                assert next_item(db, other, text) == (assignments[0] if assignments else None)
                visits.add(len(assignments))
    assert {0, 5} <= visits, "all done and nothing done both came up"


FORM_DRAFTS = FilterQuestion.form


@pytest.fixture
def drafts(db: RatingsDB) -> RatingsDB:
    db.add_campaign(Campaign("c", "filter_question", FORM_DRAFTS.label, {}, "2026"))
    item = TaskItem(id="i", case="x", shown={})
    db.add_items("c", [CampaignItem(item)], [Assignment(p, "i", 1, 0) for p in ("ann", "bob")])
    return db


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"meaningful": "no", "reasons": ["other"]}, {"meaningful": "no", "reasons": ["other"]}),
        ({"meaningful": "perhaps", "changes": ["yes"], "guides": {}}, {}),
        ({"reasons": ["other", "none"], "comment": " a "}, {"comment": " a "}),
        ({"comment": "x\ud800y"}, {"comment": "xy"}),
        ({"comment": "x" * 5000}, {"comment": "x" * 4000}),
        ({"comment": "", "reasons": []}, {}),
    ],
)
def test_only_what_the_form_can_show_is_kept(drafts: RatingsDB, payload: dict[str, Any], text: dict[str, Any]) -> None:
    keep_draft(drafts, "c", "ann", "i", payload, FORM_DRAFTS)
    assert read_draft(drafts, "c", "ann", "i", FORM_DRAFTS) == text
    assert read_draft(drafts, "c", "bob", "i", FORM_DRAFTS) == {}


def test_the_last_draft_counts_and_an_empty_one_forgets_it(drafts: RatingsDB) -> None:
    for comment in ("a", "ab", ""):
        keep_draft(drafts, "c", "ann", "i", {"comment": comment}, FORM_DRAFTS)
        assert read_draft(drafts, "c", "ann", "i", FORM_DRAFTS) == ({"comment": comment} if comment else {})


def test_a_draft_that_comes_after_its_save_is_none(drafts: RatingsDB) -> None:
    answers = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes", "comment": "ä"}
    drafts.save("c", "ann", "i", answers, form=FORM_DRAFTS.label)
    keep_draft(drafts, "c", "ann", "i", answers, FORM_DRAFTS)
    assert read_draft(drafts, "c", "ann", "i", FORM_DRAFTS) == {}
    keep_draft(drafts, "c", "ann", "i", {**answers, "comment": "ä, and"}, FORM_DRAFTS)
    assert read_draft(drafts, "c", "ann", "i", FORM_DRAFTS)["comment"] == "ä, and"


@pytest.mark.parametrize("body", ["", "[]", "{", "5", b"\xff"])
def test_whatever_is_stored_is_no_traceback(drafts: RatingsDB, body: Any) -> None:
    drafts.connection.execute("INSERT INTO drafts VALUES ('c', 'ann', 'i', ?, 't')", [body])
    assert read_draft(drafts, "c", "ann", "i", FORM_DRAFTS) == {}


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
