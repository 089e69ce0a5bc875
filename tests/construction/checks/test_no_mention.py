from __future__ import annotations

import pytest

from construction.checks import CheckInputs
from construction.checks.no_mention import NoMention
from construction.mentions.rules import RULES
from construction.scripts.script_step import Draft, script_of
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact


def verdict(old, steps, rules=RULES):
    fact = make_fact("Acme", old, "Oslo")
    question = ScriptQuestion(key="q", fact=fact.key, text="How to go?")
    script = script_of(question, Draft(steps))
    check = NoMention(NoMention.Params(rules=rules))
    return check.judge_one(CheckInputs(fact=fact, question=question, script=script))


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


@pytest.mark.parametrize(("rules", "by", "label"), [(2, "no_mention@3", "keep"), (3, "no_mention@4", "unsure")])
def test_what_the_third_rules_find_is_kept_under_the_second(rules, by, label):
    result = verdict("Lima", ["Pack", "If in Lima, call us"], rules=rules)
    assert (result.by, result.label) == (by, label)


@pytest.mark.parametrize("rules", [3, 4])
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
def test_what_the_fourth_rules_find_is_kept_under_the_third(rules, steps, reason):
    result = verdict("Lima", steps, rules=rules)
    expected = "unsure" if rules == 4 and reason else "keep"
    assert (result.by, result.label) == (f"no_mention@{rules + 1}", expected)
    assert expected == "keep" or (reason or "") in result.reason


@pytest.mark.parametrize(("rules", "label"), [(4, "keep"), (5, "unsure")])
@pytest.mark.parametrize("step", ["Juggle plums in Lima", "Sleep well with Lima"])
def test_what_the_fifth_rules_find_is_kept_under_the_fourth(rules, label, step):
    result = verdict("Lima", ["Pack", step], rules=rules)
    assert (result.by, result.label) == (f"no_mention@{rules + 1}", label)


def test_under_the_first_rules_its_verdict_is_that_of_version_2():
    label = verdict("Square", ["Meet at the town square"], rules=1)
    assert (label.label, label.by, label.reason) == ("keep", "no_mention@2", "")
