"""Words that lead to an object, glued and bare places, titles, verbs of the house."""

from __future__ import annotations

import pytest

from construction.cuts.attributive_uses import _KINDS
from construction.cuts.cut_place import CutPlace
from construction.cuts.leading_words import lead_fault, unknown_leader
from curation.shipped import SHIPPED


@pytest.mark.parametrize(
    ("before", "relation", "after", "word"),
    [
        ("Fly to ", "P36", "", None),
        ("Visit ", "P36", "", None),
        ("Take the ", "P36", " train", None),
        ("Roast ", "P36", "", "Roast"),
        ("Order a ", "P36", "", "a"),
        ("Order a ", "P36", " for two", None),  # "on" words are nouns to this rule: a preposition is judged elsewhere
        ("Book a ", "P36", " hotel", None),
        ("Bring your ", "P36", "", "your"),
        ("Talk in ", "P37", "", None),
        ("Wear ", "P37", "", "Wear"),
        ("Play the ", "P1303", "", None),
        ("Swallow ", "P1303", "", "Swallow"),
        ("Write to ", "P178", "", None),
        ("Swat ", "P178", "", "Swat"),
        ("As the answer, tick ", "P17", "", None),
        ("Write down: ", "P36", "", None),  # a colon is for other rules
        ("Wax a ", "P50", "", None),  # there is no table for persons
        ("Glue ", "P999", "", None),  # nor for a relation that nobody knows
        ("Fly directly ", "P36", "", None),
        ("Ask Old ", "P36", "", None),  # a name is for the rule of longer names
    ],
)
def test_the_word_before(before: str, relation: str, after: str, word: str | None) -> None:
    person = relation == "P50"
    assert unknown_leader(CutPlace(before, relation, after=after, person=person)) == word


@pytest.mark.parametrize(
    ("before", "relation", "after", "words"),
    [
        ("", "P36", "", "nothing but the object"),
        ("", "P36", ".", "nothing but the object"),
        ("", "P36", " opens at nine", ""),
        ("Fly to Quito/", "P36", "", "glued to 'Quito/'"),
        ("Take the Quito-", "P36", " train", ""),
        ("Take the Quito–", "P36", " hat", "glued to 'Quito–'"),
        ("Take the pre-", "P36", " train", "glued to 'pre-'"),
        ("Drive to l'", "P36", "", ""),
        ('Read "', "P36", ': A Guide"', "begins a title"),
        ('Ask for "', "P36", '" there', ""),
        ("Ask for “", "P36", "’s” plan", ""),
        ('Say "', "P50", ' is king"', ""),
        ("Dip bread with the ", "P36", " locals", "after 'Dip'"),
        ("Eat well in ", "P36", "", ""),
        ("Eat soup from ", "P495", "", ""),
        ("Eat soup from ", "P36", "", "after 'Eat'"),
        ("Wear a badge saying ", "P106", "", ""),
        ("Wear the ", "P641", " kit", ""),
    ],
)
def test_why_nothing_leads_there(before: str, relation: str, after: str, words: str) -> None:
    fault = lead_fault(CutPlace(before, relation, after=after, person=relation == "P50"))
    assert words in fault and bool(words) == bool(fault)


def test_the_table_is_tidy_and_names_kinds_that_exist() -> None:
    rows = [
        line.split("|")
        for line in (SHIPPED / "names/words_before.txt").read_text(encoding="utf-8").splitlines()
        if line[0] != "#"
    ]
    kinds = [kind.strip() for kind, _ in rows]
    assert len(kinds) == len(set(kinds)) and set(kinds) <= {kind for kind, _ in _KINDS} | {"labels", "counted"}
    for kind, words in rows:
        listed = [word.strip() for word in words.split(";")]
        assert listed == sorted(set(listed)), kind
        assert all(word and word == word.casefold() for word in listed), kind
