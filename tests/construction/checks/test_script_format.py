from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
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
