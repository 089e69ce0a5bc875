"""Signs of currencies beside a number, ."""

from __future__ import annotations

import pytest

from construction.mentions.money_signs import money_signs
from construction.mentions.object_mentions import find_object
from schemas.facts import Object


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("US dollar", "Pay $5 at once", "$"),
        ("euro", "Pay 5 € at once", "€"),
        ("euro", "Pay €5.50 at once", "€"),
        ("yen", "Pay ¥500 at once", "¥"),
        ("pound sterling", "Pay £5 at once", "£"),
        ("Indian rupee", "Pay ₹5 at once", "₹"),
    ],
)
def test_a_sign_beside_a_number_gives_the_currency_away(name: str, text: str, found: str) -> None:
    (one,) = find_object(text, Object(text=name))
    assert (one.mention.text, one.label, one.fits) == (found, "name", False)
    assert find_object(text, Object(text="Lima")) == ()


def test_places_come_in_order_with_names_among_them() -> None:
    places = find_object("Change $5 to dollars, then 7 $", Object(text="dollar"))
    assert [(one.mention.text, one.fits) for one in places] == [("$", False), ("dollar", True), ("$", False)]
    assert [m.start for m in money_signs("$5 and $6", ["dollar"])] == [0, 7]


@pytest.mark.parametrize("text", ["Set x to $HOME", "Use $x$ here", "Pay 5 now", "A bucket", "Den haag"])
def test_what_only_looks_like_a_sign_is_none(text: str) -> None:
    assert find_object(text, Object(text="US dollar")) == ()
