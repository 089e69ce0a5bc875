"""Nouns after an object: those where the object is meant, and those that it only describes."""

from __future__ import annotations

import re

import pytest

from construction.checks import CheckInputs, judge
from construction.cuts.attributive_uses import attributive_use
from construction.cuts.cut_place import CutPlace
from curation.shipped import SHIPPED
from schemas.scripts import Script, ScriptQuestion
from tests.support.facts import make_fact


@pytest.mark.parametrize(
    ("relation", "after", "noun"),
    [
        ("P641", " widow", "widow"),
        ("P641", " hair and skate", "hair"),
        ("P641", " ball-sized hail", "ball-sized"),
        ("P1303", " bar", "bar"),
        ("P38", " cake", "cake"),
        ("P17", " hat", "hat"),
        ("P131", "\u00a0figurine", "figurine"),
        ("P407", " scooter", "scooter"),
        ("P69", " hoodie", "hoodie"),
        ("P178", " T-shirt", "T-shirt"),
        ("P30", "-shaped clock", "shaped"),
        ("P50", "-themed party", "themed"),
        ("P106", " friend", "friend"),
    ],
)
def test_a_noun_that_no_line_has_is_only_described(relation: str, after: str, noun: str) -> None:
    assert attributive_use(CutPlace("", relation, after)) == noun


@pytest.mark.parametrize(
    ("relation", "after"),
    [
        ("P641", " lessons"), ("P641", " racquet"), ("P1303", " strings"), ("P36", " train"), ("P36", " early"),
        ("P36", " embassies"), ("P407", " dictionary"), ("P38", " notes"), ("P178", " engineers"), ("P69", " library"),
        ("P36", ""), ("P36", ", then rest"), ("P36", "'s mayor"), ("P36", " by train"), ("P36", " quickly"),
        ("P36", "-bound bus"), ("P999", " widow"), ("P36", " Airport"),
    ],
)  # fmt: skip
def test_other_objects_could_stand_before_these(relation: str, after: str) -> None:
    assert attributive_use(CutPlace("", relation, after)) is None


@pytest.mark.parametrize("before", ["Learn what ", "Wait until ", "Hear the ", "Ask why the "])
def test_in_a_clause_a_verb_follows(before: str) -> None:
    assert attributive_use(CutPlace(before, "P36", " wakes up")) is None
    assert attributive_use(CutPlace("Meet ", "P36", " wakes up")) == "wakes"
    assert attributive_use(CutPlace("Learn the trick ", "P178", " hid")) is None


def test_a_person_acts() -> None:
    assert attributive_use(CutPlace("", "P178", " chose it", person=True)) is None
    assert attributive_use(CutPlace("", "P178", "-style font", person=True)) == "style"


def test_each_word_of_the_table_stands_once() -> None:
    rows = [
        line.split("|")
        for line in (SHIPPED / "names/nouns_after.txt").read_text(encoding="utf-8").splitlines()
        if line[0] != "#"
    ]
    kinds = [kind.strip() for kind, _ in rows]
    assert len(kinds) == len(set(kinds)) and {"on", "any", "place", "sport", "language"} <= set(kinds)
    words = {kind.strip(): [w.strip() for w in line.split(";")] for kind, line in rows}
    for kind, line in words.items():
        assert len(line) == len(set(line)) and all(re.fullmatch(r"[^\W\d_]+(?:-[^\W\d_]+)*", w) for w in line), kind
        assert kind in ("on", "any") or not set(line) & {*words["on"], *words["any"]}, "what holds of all stands once"


@pytest.mark.parametrize(("step", "label"), [("Grow your Lima hair", "unsure"), ("Take the Lima train", "keep")])
def test_such_a_cut_is_for_people_and_the_reason_names_the_noun(step: str, label: str) -> None:
    fact = make_fact("Peru", "Lima", "Oslo")
    fact = fact.model_copy(update={"relation": fact.relation.model_copy(update={"id": "P36"})})
    question = ScriptQuestion(key="q", fact=fact.key, text="How to see the congress of Peru?")
    script = Script(key="s", question="q", steps=("Pack", step))
    (verdicts,) = judge("script", CheckInputs(fact=fact, question=question, script=script))
    assert verdicts.label == label and ("only describes 'hair'" in verdicts.reason) == (label == "unsure")
