"""Words of a step that go with objects of a kind."""

from __future__ import annotations

import pytest

from construction.cuts.attributive_uses import _KINDS
from construction.cuts.cut_place import CutPlace
from construction.cuts.step_words import base_form, foreign_step
from curation import mini_split
from curation.shipped import SHIPPED


@pytest.mark.parametrize(
    ("before", "relation", "words"),
    [
        ("Steer the raft to ", "P36", ""),
        ("Juggle plums in ", "P36", "no word of 'Juggle plums in' goes with a place"),
        ("Juggle plums with ", "P36", "'plums with' leads to no place"),
        ("Juggle plums for the ", "P36", "no word of"),
        ("Travelling with ", "P36", "'travelling with' leads to no place"),
        ("Negotiate with ", "P36", ""),
        ("Read the guidebook about the ", "P17", ""),
        ("Sleep well on ", "P36", "'well on' leads to no place"),
        ("Sleep well on the ", "P403", ""),  # rivers are no towns
        ("Juggle plums, ", "P36", ""),  # what stands right before the object is judged by another table
        ("In the ", "P36", ""),
        ("", "P36", ""),
        ("Juggle plums in ", "P37", "goes with a language"),
        ("Recite the poem in ", "P37", ""),
        ("Swallow some ", "P38", "goes with a currency"),
        ("Complain to ", "P178", ""),
        ("Juggle plums with ", "P178", "goes with a firm"),
        ("Juggle plums in ", "P50", "goes with a person"),
        ("Interview friends of ", "P50", ""),
        ("Juggle plums in ", "P999", ""),
        ("Lire un livre de ", "P36", ""),
    ],
)
def test_a_step_has_a_word_that_goes_with_its_object_or_is_for_people(before: str, relation: str, words: str) -> None:
    fault = foreign_step(CutPlace(before, relation, person=relation == "P50"))
    assert words in fault and bool(words) == bool(fault)


@pytest.mark.parametrize(
    ("one", "other"),
    [("cities", "city"), ("travelling", "travels"), ("driver's", "drive"), ("shipped", "ship"), ("hired", "hiring")],
)
def test_forms_of_a_word_have_one_base(one: str, other: str) -> None:
    assert base_form(one) == base_form(other)


def test_different_words_keep_their_own() -> None:
    words = ["bus", "busy", "land", "lend", "post", "poster", "tour", "tourist", "train"]
    assert len({base_form(word) for word in words}) >= len(words) - 1


def test_the_table_is_tidy_and_names_kinds_that_exist() -> None:
    rows = [
        line.split("|")
        for line in (SHIPPED / "names/step_words.txt").read_text(encoding="utf-8").splitlines()
        if line[0] != "#"
    ]
    kinds = [kind.strip() for kind, _ in rows]
    assert len(kinds) == len(set(kinds))
    assert {kind.split()[0] for kind in kinds} <= {kind for kind, _ in _KINDS} | {"person", "small"}
    for kind, words in rows:
        listed = [word.strip() for word in words.split(";")]
        assert listed == sorted(set(listed)), kind
        assert all(word and word == word.casefold() for word in listed), kind


def test_no_prompt_of_the_small_split_is_foreign_to_its_object() -> None:
    faults = []
    for case in mini_split().cases:
        for prompt in case.prompts:
            step = prompt.text.rpartition("\n")[2].partition(": ")[2]
            faults.append(foreign_step(CutPlace(f"{step} ", case.fact.relation.id)))
    assert len(faults) > 100 and not any(faults)
