from __future__ import annotations

import pytest

from construction.mentions.object_mentions import find_object
from schemas.facts import Object
from schemas.text.mentions import find

SQUARE = Object(text="Square", aliases=("Square, Inc.",))


def test_each_place_says_what_it_is_and_why():
    text = "Leave the square, pass Times Square, open an account with Square"
    found = find_object(text, SQUARE)
    assert [(m.mention.text, m.label) for m in found] == [("square", "word"), ("Square", "unsure"), ("Square", "name")]
    assert "common word" in found[0].why and "Times Square" in found[1].why and not found[2].why
    assert all(text[m.mention.start : m.mention.end] == m.mention.text for m in found)


@pytest.mark.parametrize("text", ["Leave the square", "Pass Times Square", "SQUARE", "Go to Square"])
def test_the_first_rules_take_every_place(text):
    assert [m.mention for m in find_object(text, SQUARE, rules=1)] == list(find(text, SQUARE))
    assert {m.label for m in find_object(text, SQUARE, rules=1)} == {"name"}


def test_what_is_part_of_the_other_objects_name_is_no_place_at_all():
    york = Object(text="York")
    assert find_object("Fly to New York", york, beside=(Object(text="New York"),)) == ()
    assert [m.label for m in find_object("Fly to New York", york)] == ["unsure"]
