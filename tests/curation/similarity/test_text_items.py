"""Texts in order of preference."""

from __future__ import annotations

import pytest

from curation.similarity.text_items import TextItem, text_items
from schemas.core.errors import UserError

ITEMS = [TextItem("i3", "c", "one two"), TextItem("i1", "a", "one two three"), TextItem("i2", "b", "one")]


@pytest.mark.parametrize(
    ("prefer", "keys"), [("key", "abc"), ("longest", "acb"), ("shortest", "bca"), ("judged", "cab")]
)
def test_who_comes_first(prefer: str, keys: str) -> None:
    items = text_items(ITEMS, prefer=prefer, keeps={"i3": 1, "i2": -1})
    assert "".join(i.key for i in items) == keys
    assert [items[n].key for n in range(-3, 3)] == [*keys, *keys]
    assert items[1:] == tuple(items)[1:] and len(items) == 3


def test_equal_ones_stand_in_order_of_key_and_id() -> None:
    same = [TextItem("i2", "a", "x"), TextItem("i1", "a", "y"), TextItem("i0", "b", "z")]
    for prefer in ("key", "longest", "shortest", "judged"):
        assert [i.id for i in text_items(same, prefer=prefer)] == ["i1", "i2", "i0"]


def test_an_item_twice_is_named() -> None:
    with pytest.raises(UserError, match="the item 'i1' was given twice"):
        text_items([*ITEMS, TextItem("i1", "z", "other")])


def test_an_unknown_preference_gets_the_near_one() -> None:
    with pytest.raises(UserError, match="unknown preference 'longst'; allowed: .*; did you mean 'longest'"):
        text_items([], prefer="longst")


def test_none_at_all() -> None:
    assert len(text_items([])) == 0 and list(text_items([], prefer="longest")) == []
