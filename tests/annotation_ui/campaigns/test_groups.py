"""Groups: one drawn set for every aspect, Executability before the rest, and no way round it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import (
    CampaignOptions,
    assign_items,
    campaigns_of_group,
    closed_items,
    create_campaign,
    make_task,
    waiting_for,
)
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import skip_item
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.annotation_ui.conftest import work

Make = Callable[..., Any]
FIRST, THEN = "rate_executability", "rate_script"


@pytest.fixture
def make(db: RatingsDB, store: Store) -> Make:
    people.invite(db, "ann")

    def made(name: str, task: str, **more: Any) -> dict[str, float | None]:
        known_facts = more.pop("known", ())
        options = CampaignOptions(**{"overlap": 1, "group": "paper", **more})
        create_campaign(db, store, name, make_task(task), options, known=known_facts)
        return {i: p.probability for i, p in db.items(name).items() if p.purpose == "real"}

    return made


def answer_all(db: RatingsDB, name: str) -> None:
    for a in db.assignments(name, "ann"):
        db.save(name, "ann", a.item, {"executability": 3}, form="rate_executability@3")


def test_all_aspects_are_asked_of_the_same_scripts(make: Make) -> None:
    first = make("exec", FIRST, number=5, least=0)
    assert len(first) == 5 and make("rest", THEN) == first
    with pytest.raises(UserError, match="leave out --percent and --number"):
        make("more", THEN, number=6)


def test_a_sample_neither_grows_nor_shrinks(make: Make) -> None:
    before = make("exec", FIRST, number=5, least=0)
    for size in ({"number": 8}, {"number": 3}, {"percent": 50.0}):
        with pytest.raises(UserError, match="neither grows nor shrinks; draw a second one"):
            make("exec", FIRST, least=0, **size)
    assert make("exec", FIRST, number=5, least=0) == before


def test_another_group_and_no_group_draw_on_their_own(db: RatingsDB, make: Make) -> None:
    makes = [make("exec", FIRST, number=5, least=0), make("b", FIRST, number=5, least=0, group="second")]
    makes.append(make("c", FIRST, number=5, least=0, group=""))
    assert len({tuple(sorted(d)) for d in makes}) == 3
    assert campaigns_of_group(db, "") == []


def test_executability_comes_first_and_is_closed_afterwards(db: RatingsDB, make: Make) -> None:
    make("exec", FIRST, number=5, least=0)
    make("rest", THEN)
    with pytest.raises(UserError, match="'exec' comes before 'rest' and is not assigned"):
        assign_items(db, "rest")
    assign_items(db, "exec")
    assign_items(db, "rest")
    assert waiting_for(db, db.campaign("rest"), "ann") == "exec"
    assert waiting_for(db, db.campaign("exec"), "ann") is None
    assert waiting_for(db, db.campaign("rest"), "bob") is None, "nothing of the first is bob's"
    answer_all(db, "exec")
    assert waiting_for(db, db.campaign("rest"), "ann") is None
    order = [a.item for a in db.assignments("rest", "ann")]
    assert closed_items(db, db.campaign("exec"), "ann") == {order[0]}, "it may be on the screen already"
    work(db, "rest", "ann", 2)
    skip_item(db, "rest", "ann", order[2], "language")
    assert closed_items(db, db.campaign("exec"), "ann") == set(order[:4])
    assert closed_items(db, db.campaign("rest"), "ann") == set()


def test_executability_cannot_be_asked_afterwards(db: RatingsDB, make: Make) -> None:
    make("rest", THEN)
    assign_items(db, "rest")
    work(db, "rest", "ann", 1)
    with pytest.raises(UserError, match="'rate_executability' comes before 'rate_script'"):
        make("exec", FIRST)


def test_a_script_with_a_known_answer_is_not_rated(db: RatingsDB, make: Make) -> None:
    value = dict(next(iter(make_items(db, make).values())))
    items = [RaterControlItem(purpose="training", id="t", shown=value, expected={"executability": 7})]
    draw = make("exec", FIRST, known=items, group="other")
    assert len(draw) == 11
    assert value not in [dict(p.item.shown) for p in db.items("exec").values() if p.purpose == "real"]
    gold = RaterControlItem(purpose="training", id=f"gold-{next(iter(draw))}", shown={"script": "x"}, expected={})
    with pytest.raises(UserError, match="is rated in this campaign"):
        make("exec", FIRST, known=[gold], group="other")


def make_items(db: RatingsDB, make: Make) -> dict[str, Any]:
    make("look", FIRST, group="")
    return {i: p.item.shown for i, p in db.items("look").items()}
