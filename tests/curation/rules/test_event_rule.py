from __future__ import annotations

import pytest

from curation.rules.rule import EventRule, SplitRule, read_rule
from schemas.core.errors import UserError


def test_a_table_is_of_facts_unless_it_says_events() -> None:
    assert type(read_rule({}, "r")) is type(read_rule({"edits": "fact"}, "r")) is SplitRule
    rule = read_rule({"edits": "event", "types": ["merger"], "min_people": 2}, "r")
    assert isinstance(rule, EventRule) and rule.types == ("merger",)


def test_a_rule_of_events_comes_back_out_of_a_header() -> None:
    rule = EventRule(min_people=2, people="any")
    assert read_rule(rule.model_dump(mode="json"), "h") == rule
    assert "edits" not in SplitRule().model_dump()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"edits": "event", "min_prompts": 2}, "'min_prompts' is about facts and script prompts"),
        ({"edits": "event", "changes": ["temporal"]}, "'changes' is about facts"),
        ({"edits": "event", "min_people": -1}, "greater than or equal to 0"),
        ({"edits": "event", "min_questions": 0}, "greater than or equal to 1"),
        ({"edits": "poem"}, "edits"),
        ({"types": ["merger"]}, "types"),
    ],
)
def test_settings_that_mean_nothing_are_refused(table: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_rule(table, "r")
