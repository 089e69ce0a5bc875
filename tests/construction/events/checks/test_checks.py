from __future__ import annotations

import pytest

from construction.events.checks import EVENT_CHECKS, EventInputs, judge_event
from tests.support.events import make_event, make_tendency


def test_the_checks_of_a_kind_that_apply() -> None:
    inputs = EventInputs(event=make_event(), question=make_tendency())
    assert [v.check for v in judge_event("tendency_question", inputs)] == [
        "options_differ",
        "stands_alone",
        "repeats_sibling",
    ]
    assert judge_event("event", inputs) == []
    assert [v.check for v in judge_event("event", EventInputs(event=make_event(), bare="x"))] == ["information_kept"]


@pytest.mark.parametrize("name", EVENT_CHECKS.names())
def test_a_check_is_pure_and_its_verdict_survives_json(name: str) -> None:
    check = EVENT_CHECKS.get(name)()
    inputs = EventInputs(event=make_event(), bare="Alba Rail moved.", question=make_tendency())
    verdict = check.judge_one(inputs)
    assert verdict == check.judge_one(inputs) == type(verdict).model_validate_json(verdict.model_dump_json())
