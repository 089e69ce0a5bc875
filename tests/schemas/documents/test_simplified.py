from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.documents.simplified import SimplifiedFact

FACT = {"key": "d/openie/0", "document": "d", "strategy": "openie", "subject": "Ada", "prompt": "{} lives in",
        "target": "Rome"}  # fmt: skip


def test_a_statement_needs_no_old_object() -> None:
    fact = SimplifiedFact.model_validate(FACT)
    assert fact.filled_prompt == "Ada lives in" and not hasattr(fact, "old")


def test_a_target_may_be_empty_and_has_no_white_space_at_its_ends() -> None:
    assert SimplifiedFact.model_validate({**FACT, "target": ""}).target == ""
    with pytest.raises(ValidationError, match="white space"):
        SimplifiedFact.model_validate({**FACT, "target": " Rome"})


@pytest.mark.parametrize("prompt", ["Ada lives in", "{} and {} live in"])
def test_a_prompt_has_exactly_one_gap(prompt: str) -> None:
    with pytest.raises(ValidationError, match="exactly one {} for the subject, it holds"):
        SimplifiedFact.model_validate({**FACT, "prompt": prompt})
