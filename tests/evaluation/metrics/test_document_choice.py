from __future__ import annotations

import pytest
from pydantic import ValidationError

from evaluation.metrics.generation import DocumentChoice


def test_the_published_template_is_the_default() -> None:
    choice = DocumentChoice()
    assert (choice.instruction, choice.hint, choice.answer_tokens) == ("Directly answer the question.", True, 24)


@pytest.mark.parametrize("wrong", [{"answer_tokens": 0}, {"hints": True}])
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        DocumentChoice.model_validate(wrong)
