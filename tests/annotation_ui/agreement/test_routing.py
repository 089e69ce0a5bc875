"""Sharing out with a stop rule and routing: off by default, what is begun stays, the overlap holds, the rule ends."""

from __future__ import annotations

from collections import Counter

import pytest

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
    campaign(db, store, routing=True, stop_width=0.1)
    result = assign_campaign(db, NAME)
    assert result.added == 30 and people_an_item(db) == {2}
    assert result.lines[1:] == ("No stop and no routing yet: severity cannot be told: nobody has rated yet; have another person rate some items.",)  # fmt: skip  # noqa: E501


def test_routing_moves_nothing_begun_and_keeps_the_overlap(db: RatingsDB, store: Store) -> None:
    campaign(db, store, routing=True)
    assign_campaign(db, NAME)
    for person in PEOPLE:
        answer(db, person, 6)
    before = db.assignments(NAME)
    answered_pairs = {(r.person, r.item) for r in db.current_answers(NAME)}
    started_batches = {(a.person, a.batch) for a in before if (a.person, a.item) in answered_pairs}
    load = Counter(a.person for a in before)
    result = assign_campaign(db, NAME)
    after = db.assignments(NAME)
    firm = [a for a in before if (a.person, a.item) in answered_pairs or (a.person, a.batch) in started_batches]
    assert set(firm) <= set(after), "neither answers nor batches that have begun move"
    assert people_an_item(db) == {2}
    assert all(abs(Counter(a.person for a in after)[p] - load[p]) <= 2 for p in PEOPLE)
    assert "from whom they tell most" in result.lines[-1]
    pairs = {(a.person, a.item) for a in after}
    assign_campaign(db, NAME)
    assert {(a.person, a.item) for a in db.assignments(NAME)} == pairs, "without new answers nothing moves"


def test_what_tells_most_comes_next(db: RatingsDB, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from annotation_ui.agreement import method_means as routing

    campaign(db, store, routing=True, batch=2)
    assign_campaign(db, NAME)
    for person in PEOPLE:
        answer(db, person, 6)
    plans = []
    plan = routing.plan_ratings
    monkeypatch.setattr(routing, "plan_ratings", lambda *a, **k: plans.append(plan(*a, **k)) or plans[-1])
    assign_campaign(db, NAME)
    (result,) = plans
    assert result
    counts: Counter[str] = Counter()
    for person in PEOPLE:
        answered_pairs = {r.item for r in db.current_answers(NAME, person=person)}
        started_batches = {a.batch for a in db.assignments(NAME, person) if a.item in answered_pairs}
        open_ = [a.item for a in db.assignments(NAME, person) if a.batch not in started_batches]
        assigned_items = [p.item for p in result if p.person == person]
        counts.update(assigned_items)
        real = [i for i in open_ if db.items(NAME)[i].purpose == "real"]
        assert real[: len(assigned_items)] == assigned_items


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
