"""Texts of records, and their order of preference."""

from __future__ import annotations

import pytest

from curation.similarity.texts import TextItem, case_records, group_of, record_text, text_items
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.curation.rule_records import EDIT, LINK, P0, Q0, S0


def test_each_kind_is_compared_by_its_own_text() -> None:
    assert record_text(Q0) == Q0.text and record_text(P0) == P0.text
    assert record_text(S0) == "Pack\nFly to Lima"
    assert record_text(EDIT) == "The capital of Peru is Lima"
    with pytest.raises(UserError, match="a neighbour has no text to compare; allowed: question, fact, prompt, script"):
        record_text(LINK)


def test_a_record_that_cases_share_comes_once_and_neighbours_stay_out() -> None:
    case = make_case("Peru")
    twice = [case, Case(**{**dict(case), "key": "case/again"})]
    assert list(case_records(twice, "prompt")) == list(case.prompts)
    assert list(case_records(twice, "fact")) == [case.fact]
    with pytest.raises(UserError, match="a split's cases hold no script; allowed: question, prompt, fact"):
        list(case_records(twice, "script"))


@pytest.mark.parametrize(
    ("scope", "groups"), [("all", ["", "", ""]), ("fact", [EDIT.key] * 3), ("relation", ["P36"] * 3)]
)
def test_inside_which_group(scope: str, groups: list[str]) -> None:
    assert [group_of(r, scope, {EDIT.key: "P36"}) for r in (EDIT, Q0, P0)] == groups


def test_a_script_does_not_say_its_fact() -> None:
    assert group_of(S0, "all", {}) == ""
    with pytest.raises(UserError, match="a script does not say which fact it belongs to; compare all: --within all"):
        group_of(S0, "fact", {})
    assert group_of(Q0, "relation", {}) == "", "a fact that is not there is in no relation"


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
