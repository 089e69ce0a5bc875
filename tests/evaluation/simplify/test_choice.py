from __future__ import annotations

import pytest
from pydantic import ValidationError

from evaluation.simplify.base import SimplifyChoice


def test_a_bare_name_and_a_table() -> None:
    assert SimplifyChoice.model_validate("ner_qg").made().params.noun_phrases is True
    made = SimplifyChoice.model_validate({"name": "ner_qg", "noun_phrases": False})
    assert made.made().params.noun_phrases is False
    assert SimplifyChoice.model_validate(made.model_dump(mode="json")) == made


@pytest.mark.parametrize(
    ("data", "said"),
    [("openi", "did you mean 'openie'"), ({"name": "openie", "serve": "x"}, "serve"), ("file", "file")],
)
def test_refusals(data: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        SimplifyChoice.model_validate(data)
