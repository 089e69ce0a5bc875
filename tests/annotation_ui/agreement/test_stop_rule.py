"""Sharing out with a stop rule: off by default, what is begun stays, the rule ends."""

from __future__ import annotations

from collections import Counter

from annotation_ui.agreement.method_means import assign_campaign
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from curation.store.store import Store

NAME, TASK = "pilot", "rate_executability"
PEOPLE = ("ann", "bob", "cat")
KNOWN = [
    RaterControlItem(purpose=p, id=p, shown={"script": "s"}, expected={"executability": 7})
    for p in ("training", "attention")
]


def campaign(db: RatingsDB, store: Store, *, overlap: int = 2, batch: int = 3, **options: object) -> None:
    for person in PEOPLE:
        raters.invite(db, person)
    sharing = CampaignOptions(overlap=overlap, batch=batch, **options)  # type: ignore[arg-type]
    create_campaign(db, store, NAME, make_task(TASK), sharing, known=KNOWN)


def answer(db: RatingsDB, person: str, count: int) -> None:
    """Answers that differ between methods, items and people."""
    for _ in range(count):
        at = next_item(db, NAME, person)
        assert at is not None
        item = db.item(NAME, at.item).item
        value = 2 + 3 * item.stratum.endswith("rome") + sum(map(ord, item.case)) % 3 - (person == "cat")
        db.save(NAME, person, at.item, {"executability": value}, form=f"{TASK}@3")


def people_an_item(db: RatingsDB) -> set[int]:
    real = {i for i, p in db.items(NAME).items() if p.purpose == "real"}
    return set(Counter(a.item for a in db.assignments(NAME) if a.item in real).values())


def test_without_options_it_is_the_even_sharing(db: RatingsDB, store: Store) -> None:
    campaign(db, store)
    result = assign_campaign(db, NAME)
    assert result.lines == ("Every two raters have 4 items in common.",)
    assert result.added == len(db.assignments(NAME)) == 12 * 2 + 2 * 3
    assert assign_items(db, NAME) == (0, 0)


def test_before_there_is_enough_to_go_by_it_is_the_even_sharing_and_says_so(db: RatingsDB, store: Store) -> None:
    campaign(db, store, stop_width=0.1)
    result = assign_campaign(db, NAME)
    assert result.added == 30 and people_an_item(db) == {2}
    assert result.lines[1:] == ("No stop yet: severity cannot be told: nobody has rated yet; have another person rate some items.",)  # fmt: skip  # noqa: E501


def test_once_the_rule_is_met_open_items_are_taken_back_and_none_are_given(db: RatingsDB, store: Store) -> None:
    campaign(db, store, stop_width=50.0)
    assign_campaign(db, NAME)
    for person in PEOPLE:
        answer(db, person, 6)
    answered_pairs = {(r.person, r.item) for r in db.current_answers(NAME)}
    result = assign_campaign(db, NAME)
    assert result.lines[0].startswith("Stop rule: met") and result.added == 0 and result.taken > 0
    assignments = db.assignments(NAME)
    assert answered_pairs <= {(a.person, a.item) for a in assignments}
    started_batches = {(a.person, a.batch) for a in assignments if (a.person, a.item) in answered_pairs}
    real = {i for i, p in db.items(NAME).items() if p.purpose == "real"}
    assert all((a.person, a.batch) in started_batches for a in assignments if a.item in real), (
        "batches that have begun are finished"
    )
    assert assign_campaign(db, NAME).taken == 0
