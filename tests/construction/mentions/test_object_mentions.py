from __future__ import annotations

import pytest

from construction.mentions.object_mentions import find_object
from schemas.facts import Object, Relation

SQUARE = Object(text="Square", aliases=("Square, Inc.",))


def test_each_place_says_what_it_is_and_why():
    text = "Leave the square, pass Times Square, open an account with Square"
    mentions = find_object(text, SQUARE)
    assert [(m.mention.text, m.label) for m in mentions] == [
        ("square", "word"),
        ("Square", "unsure"),
        ("Square", "name"),
    ]
    assert "common word" in mentions[0].why and "Times Square" in mentions[1].why and not mentions[2].why
    assert all(text[m.mention.start : m.mention.end] == m.mention.text for m in mentions)


def test_what_is_part_of_the_other_objects_name_is_no_place_at_all():
    york = Object(text="York")
    assert find_object("Fly to New York", york, beside=(Object(text="New York"),)) == ()
    assert [m.label for m in find_object("Fly to New York", york)] == ["unsure"]


AUTHOR = Relation(id="P50", label="author")
FORMS = [
    # (text, object, relation, [(words, label, fits)])
    ("Ask an Italian chef in Italy", "Italy", None, [("Italian", "name", False), ("Italy", "name", True)]),
    ("Fly to the USA", "United States", None, [("USA", "name", True)]),
    ("Ask us and the U.S. office", "United States", None, [("U.S.", "name", True)]),
    ("US law is long", "United States", None, [("US", "name", True)]),
    ("Serve salad with French dressing", "France", None, [("French", "unsure", False)]),
    ("Polish the shoes", "Poland", None, [("Polish", "word", False)]),
    ("Ask a pianist", "piano", None, [("pianist", "unsure", False)]),
    ("Meet in Hawai\u02bbi", "Hawaii", None, [("Hawai\u02bbi", "name", True)]),
    ("Meet in Hawai'i", "Hawaii", None, [("Hawai'i", "name", True)]),
    ("Meet in Hawaii", "Hawai\u02bbi", None, [("Hawaii", "name", True)]),
    ("Today we'll go", "Well", None, []),
    ("Fly to Bogot\\u00e1", "Bogotá", None, [("Bogot\\u00e1", "unsure", True)]),
    ("Read Tolstoy at night", "Leo Tolstoy", AUTHOR, [("Tolstoy", "name", True)]),
    ("Read Alexei Tolstoy at night", "Leo Tolstoy", AUTHOR, [("Tolstoy", "unsure", True)]),
    ("Write Leo a letter", "Leo Tolstoy", AUTHOR, [("Leo", "unsure", False)]),
    ("Cook the rice", "Tim Cook", AUTHOR, [("Cook", "word", True)]),
    ("Go down the rio", "Rio de Janeiro", None, [("rio", "word", True)]),
]


@pytest.mark.parametrize(("text", "name", "relation", "mentions"), FORMS, ids=[f"{t} | {n}" for t, n, _, _ in FORMS])
def test_derived_names(text, name, relation, mentions):
    places = find_object(text, Object(text=name), relation=relation)
    assert [(m.mention.text, m.label, m.fits or m.label == "word") for m in places] == [
        (words, label, fits or label == "word") for words, label, fits in mentions
    ]
    assert all(text[m.mention.start : m.mention.end] == m.mention.text for m in places)
    assert all(m.why for m in places if m.label != "name" or not m.fits)


def test_words_of_the_subject_beside_the_object_make_no_longer_name():
    text, samsung = "Reset a Samsung Galaxy S20", Object(text="Samsung")
    assert [m.label for m in find_object(text, samsung)] == ["unsure"]
    assert [m.label for m in find_object(text, samsung, near=("Galaxy S20",))] == ["name"]
