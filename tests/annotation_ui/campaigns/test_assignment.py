"""Overlap, balance, orders of their own, and what is done stays done."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation_ui.campaigns.assignment import assign
from annotation_ui.ratings.database import Assignment, CampaignItem
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
    options = {"overlap": overlap, "batch": batch, "name": "x"}
    if overlap > crowd:
        with pytest.raises(UserError, match="needs as many people"):
            assign(items(count, strata), people, **options)
        return
    assignments, withdrawn = assign(items(count, strata), people, **options)
    assert not withdrawn
    of_item = Counter(a.item for a in assignments)
    assert set(of_item.values()) == {overlap}
    assert len({(a.person, a.item) for a in assignments}) == len(assignments)
    loads = Counter({p: 0 for p in people}) + Counter(a.person for a in assignments)
    assert max(loads.values()) - min(loads.get(p, 0) for p in people) <= 1
    for person in people:
        own_items = [a for a in assignments if a.person == person]
        assert [a.position for a in own_items] == list(range(len(own_items)))
        assert max(Counter(a.batch for a in own_items).values(), default=0) <= batch
    assert assign(items(count, strata), people, **options) == (assignments, withdrawn)


def common(assignments: list[Assignment], people: tuple[str, ...]) -> list[int]:
    """Items in common, for every two people."""
    of_person = {p: {a.item for a in assignments if a.person == p} for p in people}
    return [len(of_person[a] & of_person[b]) for a, b in combinations(people, 2)]


@pytest.mark.parametrize(("crowd", "overlap"), [(n, k) for n in range(2, 13) for k in range(1, min(n, 5) + 1)])
def test_pairs_are_balanced_and_stay_connected_when_people_join_and_leave(crowd: int, overlap: int) -> None:
    """Four people with an overlap of 2 once fell into two pairs that shared nothing."""
    people, options = tuple(f"p{n:02}" for n in range(crowd)), {"overlap": overlap, "batch": 10, "name": "x"}
    for count in (24, 60):
        first, _ = assign(items(count), people, **options)
        counts = common(first, people)
        mean = sum(counts) / len(counts)
        assert max(counts) - mean < 2 and mean - min(counts) < 2
        assert overlap == 1 or connected(first, people)
        started = {(a.person, a.item) for a in first if a.position < 3}
        for now_people in ((*people, "new"), people[1:]):
            if len(now_people) < overlap:
                continue
            new, taken = assign(items(count), now_people, **options, existing=first, started=started)
            now = _after(first, new, taken)
            assert set(Counter(a.item for a in now).values()) == {overlap}
            busy = tuple(p for p in now_people if any(a.person == p for a in now))
            assert overlap == 1 or connected(now, busy)
            again = assign(items(count), now_people, **options, existing=now, started=started)
            assert again == ([], []), "nothing moves where nobody joined or left"


def connected(assignments: list[Assignment], people: tuple[str, ...]) -> bool:
    """Whether items in common lead from everybody to everybody."""
    reached, size = {people[0]}, 0
    while len(reached) > size:
        size = len(reached)
        shared = {a.item for a in assignments if a.person in reached}
        reached |= {a.person for a in assignments if a.item in shared}
    return reached >= set(people)


def test_orders_differ_between_people_and_campaigns() -> None:
    def order(person: str, name: str) -> list[str]:
        assignments, _ = assign(items(30), PEOPLE[:2], overlap=2, batch=10, name=name)
        return [a.item for a in assignments if a.person == person]

    assert sorted(order("ann", "x")) == sorted(order("bob", "x"))
    assert order("ann", "x") != order("bob", "x")
    assert order("ann", "x") != order("ann", "y")


def test_training_comes_first_and_attention_among_the_rest_for_everybody() -> None:
    special = [
        CampaignItem(TaskItem(id="t1", case="c", shown={}), "training", {"x": 1}),
        CampaignItem(TaskItem(id="a1", case="c", shown={}), "attention", {"x": 1}),
    ]
    assignments, _ = assign([*items(12), *special], PEOPLE[:3], overlap=1, batch=5, name="x")
    for person in PEOPLE[:3]:
        own_items = sorted((a for a in assignments if a.person == person), key=lambda a: a.position)
        assert own_items[0].item == "t1" and own_items[0].batch == 0
        assert sum(a.item == "a1" for a in own_items[1:]) == 1
        assert all(a.batch >= 1 for a in own_items[1:])


def _after(existing: list[Assignment], made: list[Assignment], assignments: list[Assignment]) -> list[Assignment]:
    return [a for a in existing if a not in assignments] + made


def test_somebody_who_joins_gets_batches_that_have_not_begun() -> None:
    settings = {"overlap": 2, "batch": 4, "name": "x"}
    first, _ = assign(items(24), PEOPLE[:2], **settings)
    started_batches = [a for a in first if a.batch == 1]
    started_pairs = {
        (started_batches[0].person, started_batches[0].item),
        (started_batches[-1].person, started_batches[-1].item),
    }
    assignments, withdrawn = assign(items(24), PEOPLE[:3], **settings, existing=first, started=started_pairs)
    now = _after(first, assignments, withdrawn)
    assert all(a in now for a in started_batches)
    assert set(Counter(a.item for a in now).values()) == {2}
    loads = Counter(a.person for a in now)
    assert max(loads.values()) - min(loads.values()) <= 1
    assert loads["cho"] == 16


def test_more_items_leave_all_that_was_assigned() -> None:
    settings = {"overlap": 2, "batch": 4, "name": "x"}
    first, _ = assign(items(10), PEOPLE[:3], **settings)
    assignments, withdrawn = assign(items(16), PEOPLE[:3], **settings, existing=first)
    assert not withdrawn
    now = _after(first, assignments, withdrawn)
    assert set(Counter(a.item for a in now).values()) == {2}
    assert len({(a.person, a.position) for a in now}) == len(now)


def test_what_somebody_who_left_has_answered_still_counts() -> None:
    settings = {"overlap": 1, "batch": 4, "name": "x"}
    first, _ = assign(items(8), PEOPLE[:2], **settings)
    firsts = [a for a in first if a.person == "ann"]
    started_pairs = {(a.person, a.item) for a in firsts[:2]}
    assignments, withdrawn = assign(items(8), ("bob",), **settings, existing=first, started=started_pairs)
    now = _after(first, assignments, withdrawn)
    assert set(Counter(a.item for a in now).values()) == {1}
    assert {a.item for a in now if a.person == "ann"} == {a.item for a in firsts[:2]}
