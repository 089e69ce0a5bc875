from __future__ import annotations

import re

import pytest

from construction.mentions.name_forms import name_forms
from construction.mentions.object_mentions import find_object
from curation.loaders import load
from curation.shipped import SHIPPED
from schemas.facts import Object, Relation

AUTHOR = Relation(id="P50", label="author")
KINDS = [
    # (name, form, kind, relation)
    ("Italy", "Italian", "derived", None),
    ("Italian", "Italy", "derived", None),
    ("Dutch", "Netherlands", "derived", None),
    ("United States", "American", "derived", None),
    ("United States", "USA", "name", None),
    ("United States", "U.S.", "name", None),
    ("United Kingdom", "UK", "name", None),
    ("United Kingdom", "Britain", "byname", None),
    ("Turkey", "Turkish", "derived", None),
    ("turkey", "Turkish", None, None),  # the bird
    ("Europe", "European", "derived", None),
    ("Islam", "Muslims", "derived", None),
    ("piano", "pianist", "kindred", None),
    ("pianist", "piano", None, None),  # kindred words lead nowhere
    ("London", "Londoners", "derived", None),
    ("Danish krone", "kroner", "derived", None),
    ("January", "Jan.", "byname", None),
    ("The Beatles", "Beatles", "name", None),
    ("Georgia (country)", "Georgia", "name", None),
    ("Republic of Peru", "Peruvian", "derived", None),
    ("Honolulu, Hawaiʻi", "Honolulu", "name", None),
    ("Honolulu, Hawaiʻi", "Hawaiian", "derived", None),
    ("Liverpool F.C.", "Liverpudlians", "derived", None),
    ("Bogot\\u00e1", "Bogotá", "name", None),
    ("Bogotá", "Bogot\\u00e1", "escaped", None),
    ("Oʻahu", "Oahu", "name", None),
    ("Leo Tolstoy", "Tolstoy", "surname", AUTHOR),
    ("Leo Tolstoy", "Leo", "given", AUTHOR),
    ("Leo Tolstoy", "Tolstoy", None, None),  # nothing says that it is a person
    ("New York", "York", None, Relation(id="P131", label="located in")),
    ("Vincent van Gogh", "Van Gogh", "surname", Relation(id="x", label="creator")),
    ("Martin Luther King, Jr.", "King", "surname", AUTHOR),
    ("Plato", "Plato", None, AUTHOR),
]


@pytest.mark.parametrize(("name", "form", "kind", "relation"), KINDS, ids=[f"{n} > {f}" for n, f, _, _ in KINDS])
def test_forms(name, form, kind, relation):
    by_name = {f.text: f for f in name_forms(Object(text=name), relation)}
    assert (by_name[form].kind if form in by_name else None) == kind
    assert form not in by_name or by_name[form].of


def test_a_name_of_the_fact_is_no_further_form():
    texts = [f.text for f in name_forms(Object(text="United States", aliases=("USA", "American")))]
    assert not {"USA", "American", "United States"} & set(texts) and "U.S." in texts
    assert len(texts) == len(set(texts))


def test_the_table_is_whole():
    lines = [
        x for x in (SHIPPED / "names/forms.txt").read_text(encoding="utf-8").splitlines() if x and not x.startswith("#")
    ]
    kinds = [tuple(part.strip() for part in line.split("|")) for line in lines]
    assert all(len(parts) == 3 and parts[0] and parts[1] for parts in kinds)
    heads = [(parts[0], parts[1].split(";")[0].strip()) for parts in kinds]
    assert len(heads) == len(set(heads))
    assert sum(kind == "country" for kind, _ in heads) >= 195  # members of the United Nations, and two observers
    assert all(parts[2] for parts in kinds if parts[0] in ("country", "continent", "part", "city", "religion"))
    assert not [p for line in lines for p in re.split(r"[|;]", line) if p != " " and p.strip() and "  " in p]


def test_every_country_of_the_shipped_facts_has_an_adjective():
    objects = {f.old.text for f in load("shipped").require() if f.relation.id == "P17"}
    plain_objects = [o for o in objects if not any(f.kind == "derived" for f in name_forms(Object(text=o)))]
    assert objects and not plain_objects


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("New Zealand", "Move to NZ", "NZ"),
        ("Yangon", "Fly to Rangoon", "Rangoon"),
        ("The Hague", "Fly to Den Haag", "Den Haag"),
        ("US dollar", "Ask for fifty bucks", "bucks"),
        ("Bogotá", "Fly to Bogot&aacute; soon", "Bogot&aacute;"),
        ("Bogotá", "Fly to Bogot&#225; soon", "Bogot&#225;"),
        ("Bogotá", "Fly to Bogot&#xE1; soon", "Bogot&#xE1;"),
    ],
)
def test_further_forms_are_found(name: str, text: str, found: str) -> None:
    (one,) = find_object(text, Object(text=name))
    assert (one.mention.text, one.label != "word") == (found, True)
