"""What is open and what is answered, asked of the file, against the answers read one by one."""

from __future__ import annotations

import random

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item, skip_item, skipped_items
from annotation_ui.ratings.records import Assignment, Campaign, CampaignItem
from annotation_ui.tasks.base import TaskItem

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


def test_nobody_without_work_has_open_items(db: RatingsDB) -> None:
    filled(db)
    assert next_item(db, "one", "cho") is None is next_item(db, "none", "ann")
