from __future__ import annotations

import pytest

from curation.rules.rule import DocumentRule, read_rule
from schemas.core.errors import UserError


def test_a_rule_of_documents_comes_back_out_of_a_header() -> None:
    rule = DocumentRule(min_people=1, min_probes=3)
    assert read_rule(rule.model_dump(mode="json"), "h") == rule


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"min_prompts": 2}, "'min_prompts' is about facts and script prompts"),
        ({"min_probes": 0}, "greater than or equal to 1"),
        ({"types": ["merger"]}, "types"),
    ],
)
def test_settings_that_mean_nothing_are_refused(table: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_rule({"edits": "document", **table}, "r")
