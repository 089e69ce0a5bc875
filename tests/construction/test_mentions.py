"""Where an object is mentioned, by which name, and where it is in doubt."""

from __future__ import annotations

import pytest

from construction.mentions import find_object, other_names
from curation.shipped import SHIPPED
from schemas.facts import Object, Relation

AUTHOR = Relation(id="P50", label="author")
PLACES = [  # object, text, what is found: "=" the object may stand there, "~" a word points to it, "?" in doubt
    ("Lima", "Fly to Lima", ["=Lima"]),
    ("Lima", "Fly to Limassol", []),
    ("Sweden", "Take a Swedish ship to Sverige", ["~Swedish", "=Sverige"]),
    ("United States", "Fly to the USA, not to us", ["=USA"]),
    ("The Netherlands", "Fly to Holland with a Dutchman", ["=Holland", "~Dutchman"]),
    ("French", "Fly to France", ["~France"]),
    ("piano", "Ask a pianist about the piano", ["~pianist", "=piano"]),
    ("pianist", "Tune the piano", []),  # what is derived from a field leads nowhere
    ("Turkey", "Roast the turkey in Turkey", ["?turkey", "=Turkey"]),
    ("Apple", "Press apple juice", ["?apple"]),
    ("iPhone", "Charge the iphone", ["?iphone"]),
    ("basketball", "Watch Basketball", ["=Basketball"]),
    ("New York", "Fly to new york", ["=new york"]),
    ("Poland", "Polish the shoes, polish them again", ["~Polish"]),  # at the front of a sentence nobody can tell
    ("Honolulu, Hawaii", "Fly to Honolulu", ["=Honolulu"]),
    ("Mercury (planet)", "Watch Mercury", ["=Mercury"]),
    ("Toyota Motor Corporation", "Call Toyota Motor", ["=Toyota Motor"]),
    ("euro", "Pay with a European card", []),
]


@pytest.mark.parametrize(("old", "text", "found"), PLACES)
def test_places(old: str, text: str, found: list[str]) -> None:
    mentions = find_object(text, Object(text=old))
    assert [("?" if m.doubt else "=" if m.fits else "~") + m.mention.text for m in mentions] == found
    assert all(text[m.mention.start : m.mention.end] == m.mention.text for m in mentions)


@pytest.mark.parametrize(
    ("name", "relation", "surnames"),
    [
        ("Leo Tolstoy", AUTHOR, ("Tolstoy",)),
        ("Ludwig van Beethoven", Relation(id="P86", label="composer"), ("van Beethoven", "Beethoven")),
        ("Sammy Davis Jr.", AUTHOR, ("Davis",)),
        ("Pelé", AUTHOR, ()),
        ("Elizabeth 2 Windsor", AUTHOR, ()),
        ("Salt Lake City", Relation(id="P36", label="capital"), ()),
        ("Salt Lake City", None, ()),
    ],
)
def test_a_person_has_a_surname(name: str, relation: Relation | None, surnames: tuple[str, ...]) -> None:
    assert other_names(Object(text=name), relation).names == surnames


def test_the_other_objects_longer_name_is_no_mention() -> None:
    assert find_object("Go to New York", Object(text="York"), beside=[Object(text="New York")]) == ()


def test_every_line_of_the_table_has_a_kind_names_and_derived_words() -> None:
    lines = [x for x in (SHIPPED / "names.txt").read_text(encoding="utf-8").splitlines() if not x.startswith("#")]
    assert len(lines) > 500
    for line in lines:
        kind, names, _ = line.split("|")
        assert kind.strip().isalpha() and names.strip()
