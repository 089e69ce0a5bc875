from __future__ import annotations

import pytest

from construction.mentions.position import begins_sentence, capitals_tell_nothing


@pytest.mark.parametrize(
    ("before", "begins"),
    [
        ("", True),
        ("How to go?\n", True),
        ("How to go?\nStep 2: ", True),
        ("How to go?\n        ", True),  # a label that was blanked out
        ("Stop. ", True),
        ("Is it? (", True),
        ("“", True),
        ('Step 1: "', True),
        ("- ", True),
        ("Go to ", False),
        ("Go to (", False),
        ("Dr. ", True),  # a full stop is a full stop: read with care, never taken for granted
        ("Go to the U.S.A, ", False),
        ("x" * 300 + " ", False),
    ],
)
def test_where_a_sentence_begins(before, begins):
    assert begins_sentence(before + "Square", len(before)) is begins


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("MEET ME AT THE SQUARE", True),
        ("MEET AT SQUARE", True),
        ("Meet Your Friends At The Town Square", True),
        ("Meet your friends at the Square", False),
        ("Meet Ann Lee at the Square office", False),
        ("Square", False),  # one word alone is no title
        ("Pay Square", False),
        ("VISIT THE TOWN NOW\nSign up with Square today", False),  # another line's capitals
    ],
)
def test_lines_whose_capitals_tell_nothing(text, nothing):
    start = text.casefold().rindex("square")
    assert capitals_tell_nothing(text, start, start + 6) is nothing


def test_a_name_with_small_words_makes_no_title_of_its_line():
    line = "Read about The Planets at home"
    assert not capitals_tell_nothing(line, 11, 22)
    assert capitals_tell_nothing("Look At The Planets For an hour", 12, 19)
