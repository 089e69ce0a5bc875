from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from construction.scripts.script_step import Draft, script_of
from schemas.facts import Object
from schemas.scripts import ScriptQuestion


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (("a",) * 10, "10 steps"),
        (("one two three four five six seven eight",), "step 1 has 8 words"),
        ((), "no step"),
        (("Pack a bag", "Fly home<|endoftext|>"), "step 2 holds the control token <|endoftext|>"),
    ],
)
def test_broken_format_stands_on_the_question(fact, steps, reason):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    (verdict,) = judge("draft", CheckInputs(fact=fact, question=question, draft=steps))
    assert (verdict.label, verdict.item_id) == ("drop", question.id)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("rules", "by", "label"),
    [(3, "script_format@2", "unsure"), (2, "script_format@2", "unsure"), (1, "script_format@1", "keep")],
)
def test_words_that_run_together_hold_the_script_under_the_present_rules(fact, rules, by, label):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    script = script_of(question, Draft(("Pack a bag", "Send the letter bymail to Lima")))
    inputs = CheckInputs(fact=fact, question=question, draft=script.steps, script=script)
    (verdict,) = judge("draft", inputs, rules=rules)
    assert (verdict.by, verdict.label, verdict.item_id) == (by, label, script.id)
    assert verdict.reason == ("step 2: 'bymail' is two words run together" if rules > 1 else "")


def test_words_within_names_of_the_fact_are_left_alone(fact):
    odd = fact.model_copy(update={"new": Object(text="tomail")})
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    for one, label in ((odd, "keep"), (fact, "unsure")):
        (verdict,) = judge("draft", CheckInputs(fact=one, question=question, draft=("Ask at tomail",)))
        assert verdict.label == label
