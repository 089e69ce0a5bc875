from __future__ import annotations

import pytest

from construction.checks import CheckInputs
from construction.checks.no_mention import NoMention
from construction.scripts.script_step import Draft, script_of
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact


def verdict(old, steps):
    fact = make_fact("Acme", old, "Oslo")
    question = ScriptQuestion(key="q", fact=fact.key, text="How to go?")
    script = script_of(question, Draft(steps))
    return NoMention().judge_one(CheckInputs(fact=fact, question=question, script=script))


@pytest.mark.parametrize(
    ("old", "steps", "label", "reason"),
    [
        ("Lima", ["Pack", "Fly to Lima"], "keep", ""),
        ("Lima", ["Pack", "Go"], "drop", "Lima"),
        ("Square", ["Meet at the town square"], "drop", "common word"),
        ("London", ["Cross London Bridge"], "unsure", "London Bridge"),
        ("Square", ["Square headquarters open late"], "unsure", "begins the sentence"),
        ("Italy", ["Call an Italian"], "drop", "derived from 'Italy'"),
    ],
)
def test_it_says_why_nothing_or_something_doubtful_is_cut(old, steps, label, reason):
    result = verdict(old, steps)
    assert (result.label, result.by) == (label, "no_mention@7")
    assert reason in result.reason


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (["Pack", "Shout hooray over Lima"], None),
        (["Pack", "Bake Lima"], "after 'Bake'"),
        (["Pack", "Order a Lima"], "after 'a'"),
        (["Pack", "Lima"], "nothing but the object"),
        (["Pack", "Fly to Quito/Lima"], "glued to 'Quito/'"),
        (["Pack", "Take the pre-Lima train"], "glued to 'pre-'"),
        (["Pack", "Take the Quito-Lima train"], None),
        (["Pack", 'Read "Lima: A Guide"'], "begins a title"),
        (["Pack", "Fly to Lima's north"], None),
        (["Pack", 'Ask for "Lima"'], None),
    ],
)
def test_a_place_to_which_no_word_leads_is_unsure(steps, reason):
    result = verdict("Lima", steps)
    assert result.label == ("unsure" if reason else "keep") and (reason or "") in result.reason


@pytest.mark.parametrize("step", ["Juggle plums in Lima", "Sleep well with Lima"])
def test_a_step_without_a_word_of_its_kind_is_unsure(step):
    assert verdict("Lima", ["Pack", step]).label == "unsure"
