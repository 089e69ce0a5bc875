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


def test_words_that_run_together_hold_the_script(fact):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    script = script_of(question, Draft(("Pack a bag", "Send the letter bymail to Lima")))
    inputs = CheckInputs(fact=fact, question=question, draft=script.steps, script=script)
    (verdict,) = judge("draft", inputs)
    assert (verdict.by, verdict.label, verdict.item_id) == ("script_format@2", "unsure", script.id)
    assert verdict.reason == "step 2: 'bymail' is two words run together"


def test_words_within_names_of_the_fact_are_left_alone(fact):
    odd = fact.model_copy(update={"new": Object(text="tomail")})
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    for one, label in ((odd, "keep"), (fact, "unsure")):
        (verdict,) = judge("draft", CheckInputs(fact=one, question=question, draft=("Ask at tomail",)))
        assert verdict.label == label
