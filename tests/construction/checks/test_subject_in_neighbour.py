from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from construction.neighbours.same_object import link
from schemas.scripts import ScriptPrompt
from tests.support.facts import make_fact


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("How to visit Chile?\nStep 1: Fly to", "keep"),
        ("How to visit Chile?\nStep 1: Leave Peru", "drop"),
        ("How to visit Chile?\nStep 1: Leave Oslo's airport", "drop"),
    ],
)
def test_edit_in_a_neighbour_prompt(fact, text, label):
    other = make_fact("Chile")
    prompt = ScriptPrompt(key="p", fact=other.key, text=text, offset=len(text) + 1, targets=("Lima",))
    record = link(fact, other)
    (verdict,) = judge("neighbour", CheckInputs(fact=other, prompt=prompt, edit=fact, link=record))
    assert (verdict.label, verdict.item_id, verdict.related) == (label, record.id, (prompt.id,))
