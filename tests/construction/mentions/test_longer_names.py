from __future__ import annotations

import pytest

from construction.mentions.longer_names import longer_name
from construction.mentions.object_mentions import find_object
from schemas.facts import Object, Relation

CASES = [
    # (text, name, longer name)
    ("Walk over London Bridge", "London", "London Bridge"),
    ("Buy the New York Times", "New York", "New York Times"),
    ("Fly to South Africa", "Africa", "South Africa"),
    ("South Africa is next", "Africa", "South Africa"),
    ("Tour Northern Ireland", "Ireland", "Northern Ireland"),
    ("Ask the Bank of America", "America", "Bank of America"),
    ("Bank of America is open", "America", "Bank of America"),
    ("Study at the University of Oxford", "Oxford", "University of Oxford"),
    ("Visit Trinidad and Tobago", "Tobago", "Trinidad and Tobago"),
    ("Ring Marks & Spencer", "Spencer", "Marks & Spencer"),
    ("Eat french fries", "French", "french fries"),
    ("Feed the guinea pigs", "Guinea", "guinea pigs"),
    ("Play Piano Man", "piano", "Piano Man"),
    ("Wear Chicago-style hats", "Chicago", "Chicago-style"),
    # the same name
    ("Visit London", "London", None),
    ("Visit London on Monday", "London", None),
    ("Visit London Monday", "London", None),
    ("Tell Paris, London and Rome", "London", None),
    ("London's Big Ben is loud", "London", None),
    ("Ask President Obama", "Obama", None),
    ("Write to Porsche AG", "Porsche", None),
    ("Cross the Republic of Peru", "Peru", None),
    ("Ask the Embassy of Japan", "Japan", None),
    ("Map of London in hand", "London", None),
    ("play a piano", "piano", None),
    ("Piano lessons", "piano", None),
    ("Take the London-Paris train", "London", None),
    ("Put on the blue Honda-Fest cap", "Honda", "Honda-Fest"),
    ("Play for Paris-Orly", "Paris", "Paris-Orly"),
    ("WALK OVER LONDON BRIDGE NOW", "LONDON", None),  # capitals tell nothing
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "longer"), CASES, ids=[f"{t} | {n}" for t, n, _ in CASES])
def test_longer_names(text, name, longer):
    start = text.casefold().rindex(name.casefold())
    assert longer_name(text, start, start + len(name), names=(name,)) == longer


def test_the_objects_own_further_names_make_no_longer_name():
    assert longer_name("Ask Leo Tolstoy", 8, 15, names=("Tolstoy", "Leo Tolstoy")) is None
    assert longer_name("Ask Alexei Tolstoy", 11, 18, names=("Tolstoy", "Leo Tolstoy")) == "Alexei Tolstoy"


def test_a_step_is_read_line_by_line():
    text = "How to pay?\nStep 1: Visit\nStep 2: London is next"
    start = text.index("London")
    assert longer_name(text, start, start + 6) is None


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Look at www.honda.com first", "honda", "www.honda.com"),
        ("Write to info@nokia.com now", "nokia", "info@nokia.com"),
        ("Follow #Paris for a week", "Paris", "#Paris"),
        ("Visit paris.fr.", "paris", "paris.fr"),
        ("Go to (Paris).", "Paris", None),
        ("Go to Paris. Then rest", "Paris", None),
        ("Ask at Paris/London", "Paris", None),
    ],
)
def test_an_address_or_a_tag_is_a_longer_name(text: str, name: str, expected: str | None) -> None:
    start = text.index(name)
    assert longer_name(text, start, start + len(name)) == expected


@pytest.mark.parametrize(
    ("name", "text", "longer"),
    [
        ("Africa", "fly to south africa", "south africa"),
        ("Mexico", "drive to new mexico", "new mexico"),
        ("Ireland", "fly to northern ireland", "northern ireland"),
        ("Samoa", "send it to american samoa", "american samoa"),
    ],
)
def test_a_longer_name_without_capitals_is_unsure(name: str, text: str, longer: str) -> None:
    (one,) = find_object(text, Object(text=name), relation=Relation(id="P17", label="country"))
    assert one.label == "unsure" and f"'{longer}'" in one.why


@pytest.mark.parametrize("text", ["fly to new york, mexico", "fly south to mexico", "buy a new mexico map"])
def test_a_small_word_elsewhere_makes_no_longer_name(text: str) -> None:
    places = find_object(text, Object(text="Mexico"), relation=Relation(id="P17", label="country"))
    assert [one.label for one in places] == (["unsure"] if "new mexico" in text else ["name"])
