from __future__ import annotations

import pytest
from pydantic import ValidationError

from evaluation.metrics.generation import SpecificityChoice


def test_forty_are_drawn_unless_told_otherwise() -> None:
    assert SpecificityChoice.model_validate({"file": "a.json"}).number == 40
    assert SpecificityChoice.model_validate({"file": "a.json", "number": "all"}).number == "all"


@pytest.mark.parametrize("number", [0, -1, "some"])
def test_no_question_is_refused(number: object) -> None:
    with pytest.raises(ValidationError):
        SpecificityChoice.model_validate({"file": "a.json", "number": number})
