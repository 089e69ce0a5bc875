from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from schemas.scripts import ScriptPrompt


@pytest.mark.parametrize(("step", "label", "value"), [(1, "unsure", 1.0), (4, "keep", 4.0), (None, "unscored", None)])
def test_the_step_of_the_cut_is_measured(fact, step, label, value):
    prompt = ScriptPrompt(key="p", fact=fact.key, text="How?\nStep 1: Go", offset=16, step=step, targets=("Lima",))
    (verdict,) = [v for v in judge("prompt", CheckInputs(fact=fact, prompt=prompt)) if v.check == "early_cut"]
    assert (verdict.label, verdict.value) == (label, value)
