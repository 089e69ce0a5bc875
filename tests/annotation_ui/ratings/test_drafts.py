"""Drafts: what is shown again after a reload, whatever was sent."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import keep_draft, read_draft
from annotation_ui.ratings.records import Assignment, Campaign, CampaignItem
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.script_questions import FilterQuestion
from schemas.core.errors import UserError

FORM = FilterQuestion.form


@pytest.fixture
def work(db: RatingsDB) -> RatingsDB:
    db.add_campaign(Campaign("c", "filter_question", FORM.label, {}, "2026"))
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
def test_only_what_the_form_can_show_is_kept(work: RatingsDB, payload: dict[str, Any], text: dict[str, Any]) -> None:
    keep_draft(work, "c", "ann", "i", payload, FORM)
    assert read_draft(work, "c", "ann", "i", FORM) == text
    assert read_draft(work, "c", "bob", "i", FORM) == {}


def test_the_last_draft_counts_and_an_empty_one_forgets_it(work: RatingsDB) -> None:
    for comment in ("a", "ab", ""):
        keep_draft(work, "c", "ann", "i", {"comment": comment}, FORM)
        assert read_draft(work, "c", "ann", "i", FORM) == ({"comment": comment} if comment else {})


def test_a_draft_that_comes_after_its_save_is_none(work: RatingsDB) -> None:
    answers = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes", "comment": "ä"}
    work.save("c", "ann", "i", answers, form=FORM.label)
    keep_draft(work, "c", "ann", "i", answers, FORM)
    assert read_draft(work, "c", "ann", "i", FORM) == {}
    keep_draft(work, "c", "ann", "i", {**answers, "comment": "ä, and"}, FORM)
    assert read_draft(work, "c", "ann", "i", FORM)["comment"] == "ä, and"


def test_somebody_else_s_item_has_no_draft(work: RatingsDB) -> None:
    with pytest.raises(UserError, match="is not assigned to 'eve'"):
        keep_draft(work, "c", "eve", "i", {"comment": "x"}, FORM)


@pytest.mark.parametrize("body", ["", "[]", "{", "5", b"\xff"])
def test_whatever_is_stored_is_no_traceback(work: RatingsDB, body: Any) -> None:
    work.connection.execute("INSERT INTO drafts VALUES ('c', 'ann', 'i', ?, 't')", [body])
    assert read_draft(work, "c", "ann", "i", FORM) == {}
