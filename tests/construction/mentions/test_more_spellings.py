"""Dates in another order, letters written out, signs left out, codes."""

from __future__ import annotations

import pytest

from construction.mentions.more_spellings import coded_spellings, more_spellings
from construction.mentions.object_mentions import find_object
from schemas.facts import Object


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("4 May 1999", "Book for May 4, 1999"),
        ("May 4, 1999", "Book for 4 May 1999"),
        ("1999-05-04", "Book for the 4th of May 1999"),
        ("4 May 1999", "Book for 1999-05-04"),
        ("Zürich", "Fly to Zuerich"),
        ("Tromsø", "Fly to Tromsoe"),
        ("Yahoo!", "Write to Yahoo"),
        ('Toys "R" Us', "Write to Toys R Us"),
    ],
)
def test_the_object_is_found_since_the_fourth_rules(name: str, text: str) -> None:
    found = find_object(text, Object(text=name))
    assert [(one.label, one.fits) for one in found] == [("name", True)]


@pytest.mark.parametrize("text", ["Fly to Bogot\\xe1", "Fly to Bogot%C3%A1", "Fly to BogotÃ¡", "Fly to Bogot\\u00e1"])
def test_codes_are_for_people(text: str) -> None:
    (one,) = find_object(text, Object(text="Bogotá"))
    assert (one.label, one.kind, one.mention.end) == ("unsure", "escaped", len(text))


@pytest.mark.parametrize("name", ["31 Foo 1999", "1999-13-04", "May 1999", "May", "99", "Lima", "0 May 1999"])
def test_what_is_no_date_has_no_other_order(name: str) -> None:
    assert more_spellings(name) == []


def test_a_name_without_foreign_letters_has_no_codes() -> None:
    assert coded_spellings("Lima") == [] and coded_spellings("東京")[0] == "\\u6771\\u4eac"
