"""Sharing out with a stop rule and routing: off by default, what is begun stays, the overlap holds, the rule ends."""

from __future__ import annotations

from collections import Counter

import pytest

from annotation_ui.agreement.routing import share_campaign
from annotation_ui.campaigns.campaign import assign_items, create_campaign, make_task, next_item
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.campaigns.options import CampaignOptions
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
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
        db.save(NAME, person, at.item, {"executability": value}, form=f"{TASK}@2")


def people_an_item(db: RatingsDB) -> set[int]:
    real = {i for i, p in db.items(NAME).items() if p.purpose == "real"}
    return set(Counter(a.item for a in db.assignments(NAME) if a.item in real).values())


def test_without_options_it_is_the_even_sharing(db: RatingsDB, store: Store) -> None:
    campaign(db, store)
    got = share_campaign(db, NAME)
    assert got.lines == () and got.added == len(db.assignments(NAME)) == 12 * 2 + 2 * 3
    assert assign_items(db, NAME) == (0, 0)


def test_before_there_is_enough_to_go_by_it_is_the_even_sharing_and_says_so(db: RatingsDB, store: Store) -> None:
    campaign(db, store, routing=True, stop_width=0.1)
    got = share_campaign(db, NAME)
    assert got.added == 30 and people_an_item(db) == {2}
    assert got.lines == ("No stop and no routing yet: severity cannot be told: nobody has rated yet; have another person rate some items.",)  # fmt: skip  # noqa: E501


def test_routing_moves_nothing_begun_and_keeps_the_overlap(db: RatingsDB, store: Store) -> None:
    campaign(db, store, routing=True)
    share_campaign(db, NAME)
    for person in PEOPLE:
        answer(db, person, 6)
    before = db.assignments(NAME)
    done = {(r.person, r.item) for r in db.current_answers(NAME)}
    begun = {(a.person, a.batch) for a in before if (a.person, a.item) in done}
    load = Counter(a.person for a in before)
    got = share_campaign(db, NAME)
    after = db.assignments(NAME)
    firm = [a for a in before if (a.person, a.item) in done or (a.person, a.batch) in begun]
    assert set(firm) <= set(after), "neither answers nor batches that have begun move"
    assert people_an_item(db) == {2}
    assert all(abs(Counter(a.person for a in after)[p] - load[p]) <= 2 for p in PEOPLE)
    assert "from whom they tell most" in got.lines[-1]
    again = {(a.person, a.item) for a in after}
    share_campaign(db, NAME)
    assert {(a.person, a.item) for a in db.assignments(NAME)} == again, "without new answers nothing moves"


def test_what_tells_most_comes_next(db: RatingsDB, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from annotation_ui.agreement import routing

    campaign(db, store, routing=True, batch=2)
    share_campaign(db, NAME)
    for person in PEOPLE:
        answer(db, person, 6)
    plans = []
    plan = routing.plan_ratings
    monkeypatch.setattr(routing, "plan_ratings", lambda *a, **k: plans.append(plan(*a, **k)) or plans[-1])
    share_campaign(db, NAME)
    (found,) = plans
    assert found
    given: Counter[str] = Counter()
    for person in PEOPLE:
        done = {r.item for r in db.current_answers(NAME, person=person)}
        begun = {a.batch for a in db.assignments(NAME, person) if a.item in done}
        open_ = [a.item for a in db.assignments(NAME, person) if a.batch not in begun]
        wanted = [p.item for p in found if p.person == person]
        given.update(wanted)
        real = [i for i in open_ if db.items(NAME)[i].purpose == "real"]
        assert real[: len(wanted)] == wanted


def test_once_the_rule_is_met_open_items_are_taken_back_and_none_are_given(db: RatingsDB, store: Store) -> None:
    campaign(db, store, stop_width=50.0)
    share_campaign(db, NAME)
    for person in PEOPLE:
        answer(db, person, 6)
    done = {(r.person, r.item) for r in db.current_answers(NAME)}
    got = share_campaign(db, NAME)
    assert got.lines[0].startswith("Stop rule: met") and got.added == 0 and got.taken > 0
    left = db.assignments(NAME)
    assert done <= {(a.person, a.item) for a in left}
    begun = {(a.person, a.batch) for a in left if (a.person, a.item) in done}
    real = {i for i, p in db.items(NAME).items() if p.purpose == "real"}
    assert all((a.person, a.batch) in begun for a in left if a.item in real), "batches that have begun are finished"
    assert share_campaign(db, NAME).taken == 0
