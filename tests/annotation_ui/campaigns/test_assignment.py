"""Overlap, balance, orders of their own, and what is done stays done."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation_ui.campaigns.assignment import AssignmentSettings, assign
from annotation_ui.ratings.records import Assignment, CampaignItem
from annotation_ui.tasks.base import TaskItem
from schemas.core.errors import UserError

PEOPLE = ("ann", "bob", "cho", "dev", "eve")


def items(count: int, strata: int = 3) -> list[CampaignItem]:
    return [
        CampaignItem(TaskItem(id=f"i{n:03}", case=f"c{n}", stratum=f"s{n % strata}", shown={})) for n in range(count)
    ]


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(1, 60),
    strata=st.integers(1, 5),
    crowd=st.integers(1, 5),
    overlap=st.integers(1, 3),
    batch=st.integers(1, 12),
)
def test_every_item_has_its_people_and_nobody_more_than_one_extra(
    count: int, strata: int, crowd: int, overlap: int, batch: int
) -> None:
    people = PEOPLE[:crowd]
    how = AssignmentSettings(overlap=overlap, batch=batch, name="x")
    if overlap > crowd:
        with pytest.raises(UserError, match="needs as many people"):
            assign(items(count, strata), people, how)
        return
    made, taken = assign(items(count, strata), people, how)
    assert not taken
    of_item = Counter(a.item for a in made)
    assert set(of_item.values()) == {overlap}
    assert len({(a.person, a.item) for a in made}) == len(made)
    loads = Counter({p: 0 for p in people}) + Counter(a.person for a in made)
    assert max(loads.values()) - min(loads.get(p, 0) for p in people) <= 1
    for person in people:
        mine = [a for a in made if a.person == person]
        assert [a.position for a in mine] == list(range(len(mine)))
        assert max(Counter(a.batch for a in mine).values(), default=0) <= batch
    assert assign(items(count, strata), people, how) == (made, taken)


def test_orders_differ_between_people_and_campaigns() -> None:
    def order(person: str, name: str) -> list[str]:
        made, _ = assign(items(30), PEOPLE[:2], AssignmentSettings(2, 10, name))
        return [a.item for a in made if a.person == person]

    assert sorted(order("ann", "x")) == sorted(order("bob", "x"))
    assert order("ann", "x") != order("bob", "x")
    assert order("ann", "x") != order("ann", "y")


def test_training_comes_first_and_attention_among_the_rest_for_everybody() -> None:
    special = [
        CampaignItem(TaskItem(id="t1", case="c", shown={}), "training", {"x": 1}),
        CampaignItem(TaskItem(id="a1", case="c", shown={}), "attention", {"x": 1}),
    ]
    made, _ = assign([*items(12), *special], PEOPLE[:3], AssignmentSettings(1, 5, "x"))
    for person in PEOPLE[:3]:
        mine = sorted((a for a in made if a.person == person), key=lambda a: a.position)
        assert mine[0].item == "t1" and mine[0].batch == 0
        assert sum(a.item == "a1" for a in mine[1:]) == 1
        assert all(a.batch >= 1 for a in mine[1:])


def _after(existing: list[Assignment], made: list[Assignment], taken: list[Assignment]) -> list[Assignment]:
    return [a for a in existing if a not in taken] + made


def test_somebody_who_joins_gets_batches_that_have_not_begun() -> None:
    how = AssignmentSettings(2, 4, "x")
    first, _ = assign(items(24), PEOPLE[:2], how)
    begun = [a for a in first if a.batch == 1]
    started = {(begun[0].person, begun[0].item), (begun[-1].person, begun[-1].item)}
    made, taken = assign(items(24), PEOPLE[:3], how, existing=first, started=started)
    now = _after(first, made, taken)
    assert all(a in now for a in begun)
    assert set(Counter(a.item for a in now).values()) == {2}
    loads = Counter(a.person for a in now)
    assert max(loads.values()) - min(loads.values()) <= 1
    assert loads["cho"] == 16


def test_more_items_leave_all_that_was_assigned() -> None:
    how = AssignmentSettings(2, 4, "x")
    first, _ = assign(items(10), PEOPLE[:3], how)
    made, taken = assign(items(16), PEOPLE[:3], how, existing=first)
    assert not taken
    now = _after(first, made, taken)
    assert set(Counter(a.item for a in now).values()) == {2}
    assert len({(a.person, a.position) for a in now}) == len(now)


def test_what_somebody_who_left_has_answered_still_counts() -> None:
    how = AssignmentSettings(1, 4, "x")
    first, _ = assign(items(8), PEOPLE[:2], how)
    left = [a for a in first if a.person == "ann"]
    started = {(a.person, a.item) for a in left[:2]}
    made, taken = assign(items(8), ("bob",), how, existing=first, started=started)
    now = _after(first, made, taken)
    assert set(Counter(a.item for a in now).values()) == {1}
    assert {a.item for a in now if a.person == "ann"} == {a.item for a in left[:2]}
