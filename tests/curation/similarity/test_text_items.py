"""TextItems in order of preference, kept on the disk."""

from __future__ import annotations

import pytest

from curation.similarity.text_items import TextItem, TextItems
from schemas.core.errors import UserError

ITEMS = [TextItem("i3", "c", "one two"), TextItem("i1", "a", "one two three"), TextItem("i2", "b", "one")]


@pytest.mark.parametrize(
    ("prefer", "keys"), [("key", "abc"), ("longest", "acb"), ("shortest", "bca"), ("judged", "cab")]
)
def test_who_comes_first(prefer: str, keys: str) -> None:
    items = TextItems(ITEMS, prefer=prefer, keeps={"i3": 1, "i2": -1})
    assert "".join(i.key for i in items) == keys
    assert [items[n].key for n in range(-3, 3)] == [*keys, *keys]
    assert items[1:] == tuple(items)[1:] and len(items) == 3


def test_equal_ones_stand_in_order_of_key_and_id() -> None:
    same = [TextItem("i2", "a", "x"), TextItem("i1", "a", "y"), TextItem("i0", "b", "z")]
    for prefer in ("key", "longest", "shortest", "judged"):
        assert [i.id for i in TextItems(same, prefer=prefer)] == ["i1", "i2", "i0"]


def test_an_item_twice_is_named() -> None:
    with pytest.raises(UserError, match="the item 'i1' was given twice"):
        TextItems([*ITEMS, TextItem("i1", "z", "other")])


def test_an_unknown_preference_gets_the_near_one() -> None:
    with pytest.raises(UserError, match="unknown preference 'longst'; allowed: .*; did you mean 'longest'"):
        TextItems([], prefer="longst")


def test_none_at_all() -> None:
    assert len(TextItems([])) == 0 and list(TextItems([], prefer="longest")) == []
