from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.generated_scripts import GeneratedScript

FIELDS = {"key": "g/1", "case": "c/1", "fact": "f/1", "question": "q/1", "model": "m", "editor": "rome", "edited": True}


def test_steps_of_a_model_are_kept_whatever_their_length() -> None:
    step = "a step of more than seven words is kept here"
    assert GeneratedScript.model_validate({**FIELDS, "text": step, "steps": (step,) * 12}).steps == (step,) * 12


@pytest.mark.parametrize("change", [{"sample": -1}, {"question": "q 1"}, {"text": None}, {"edited": "maybe"}])
def test_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GeneratedScript.model_validate({**FIELDS, "text": "x", **change})
