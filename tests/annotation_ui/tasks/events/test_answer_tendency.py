"""The own answer, before the proposed one is seen."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import make_task
from curation.store.store import Store
from schemas.verdicts import Verdict

TASK = make_task("answer_tendency")


def test_nothing_that_is_shown_tells_the_proposed_answer(events: Store) -> None:
    items = list(TASK.items(events))
    assert len(items) == 2
    for item in items:
        assert set(item.shown) == {"event", "question", "option_a", "option_b", "option_c"}
        assert [item.shown[f"option_{o}"] for o in "abc"] == ["They rise", "They fall", "They stay as they are"]
    assert {TASK.part(i) for i in items} == {"in scope", "out of scope"}


@pytest.mark.parametrize(("choice", "value"), [("a", 1.0), ("c", 3.0), ("none", 0.0)])
def test_an_answer_is_a_measurement_and_decides_nothing(events: Store, choice: str, value: float) -> None:
    item = next(iter(TASK.items(events)))
    (records,) = TASK.records(item, {"own": choice}, person="ann")
    assert isinstance(records, Verdict)
    assert (records.label, records.value, records.unit, records.by) == (
        None,
        value,
        "option",
        "person:ann/answer_tendency_own@2",
    )


def test_it_comes_before_judging() -> None:
    assert make_task("judge_tendency").after == ("answer_tendency",)
    assert TASK.same_people and make_task("judge_tendency").same_people
