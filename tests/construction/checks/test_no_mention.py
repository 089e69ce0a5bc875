from __future__ import annotations

import pytest

from construction.checks import CheckInputs
from construction.checks.prompts import NoMention
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
        ("Square", ["Meet at the town square"], "unsure", "'square' has no capital"),
        ("Square", ["Meet at the town square", "Pay with Square"], "keep", ""),
        ("London", ["Cross London Bridge"], "keep", ""),
        ("Italy", ["Call an Italian"], "drop", "no step mentions the old object"),
    ],
)
def test_it_says_why_nothing_or_something_doubtful_is_cut(old, steps, label, reason):
    result = verdict(old, steps)
    assert (result.label, result.by) == (label, "no_mention@8")
    assert reason in result.reason
