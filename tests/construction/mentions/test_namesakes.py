"""Towns of the same name elsewhere."""

from __future__ import annotations

import pytest

from construction.mentions.object_mentions import find_object
from schemas.facts import Object


@pytest.mark.parametrize(
    ("text", "name", "label"),
    [
        ("Fly to Rome, Georgia", "Rome", "unsure"),
        ("Fly to Paris in Texas", "Paris", "unsure"),
        ("Fly to London (Ontario)", "London", "unsure"),
        ("Fly to Rome, Italy", "Rome", "name"),
        ("Fly to Rome, Madrid and Lima", "Rome", "name"),
        ("Fly to Boston, Massachusetts", "Boston, Massachusetts", "name"),
        ("Fly to Denver, Colorado", "Denver", "name"),
        ("Fly to Rome in Texan boots", "Rome", "name"),
    ],
)
def test_a_town_in_another_state_is_for_people(text: str, name: str, label: str) -> None:
    (one,) = find_object(text, Object(text=name))
    assert one.label == label and (label == "name" or "part of a longer name" in one.why)


def test_the_state_of_the_subject_is_no_other_place() -> None:
    (one,) = find_object("Fly to Athens, Georgia", Object(text="Athens"), near=("University of Georgia",))
    assert one.label == "name"
