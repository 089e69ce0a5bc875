"""Frames: everybody's probability, and that of the drawn ones with it."""

from __future__ import annotations

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.frames import keep_frame, read_frame
from annotation_ui.ratings.records import Campaign, CampaignItem
from annotation_ui.tasks.base import TaskItem


def test_a_change_reaches_the_drawn_items_and_no_other_campaign(db: RatingsDB) -> None:
    for name in ("one", "two"):
        db.add_campaign(Campaign(name, "t", "t@1", {}, "2026"))
        items = [CampaignItem(TaskItem(id=i, case="c", shown={}), probability=0.1) for i in ("a", "b")]
        control = CampaignItem(TaskItem(id="k", case="c", shown={}), "attention", {})
        db.add_items(name, [*items, control], [])
    assert read_frame(db, "one") == {}
    assert keep_frame(db, "one", {"a": 0.1, "b": 0.1, "undrawn": 0.1}) is False
    assert keep_frame(db, "one", {"a": 0.5, "b": 0.1, "undrawn": 0.5, "k": 0.5}) is True
    assert keep_frame(db, "one", {"a": 0.5}) is False
    assert read_frame(db, "one") == {"a": 0.5, "b": 0.1, "undrawn": 0.5, "k": 0.5}
    assert [p.probability for p in db.items("one").values()] == [0.5, 0.1, None]
    assert [p.probability for p in db.items("two").values()] == [0.1, 0.1, None]
