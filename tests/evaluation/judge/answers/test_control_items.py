from __future__ import annotations

from typing import Any

import pytest

from evaluation.judge.answers.control_items import AnswerControl, answer_controls, control_pairs
from evaluation.judge.answers.steps import AnswerStep
from evaluation.judge.control_items import check_controls
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.ratings import RUBRICS, TENDENCY


def test_every_rubric_has_items_at_both_ends_of_its_scale() -> None:
    for rubric, aspect in (("tendency", "accuracy"), ("tendency", "overall"), ("consistency", "consistency")):
        accepted = [item.accepted[aspect] for item in answer_controls([rubric]) if aspect in item.accepted]  # type: ignore[index]
        assert any(low >= 4 for low, _ in accepted) and any(high <= 2 for _, high in accepted), (rubric, aspect)
    assert len({item.ask.item for item in answer_controls()}) == len(answer_controls())
    assert len({item.name for item in answer_controls()}) == len(answer_controls())
    assert all(item.ask.rubric.name == item.rubric for item in answer_controls())


def test_what_is_accepted_can_be_given_under_the_rule() -> None:
    for item in answer_controls():
        best: dict[Any, int] = {a: most for a, (_, most) in item.accepted.items()}
        least: dict[Any, int] = {a: low for a, (low, _) in item.accepted.items()}
        scores = {**best, "overall": least.get("overall", 1)} if "accuracy" in best else best
        assert not RUBRICS[item.rubric].fault(scores), item.name


def test_a_judge_that_gives_five_to_all_misses_what_is_bad() -> None:
    step = AnswerStep.load(TENDENCY, "paper", model="m")
    pairs = [(aspect, item) for item in answer_controls(["tendency"]) for aspect in control_pairs(step, item)]
    table = check_controls(pairs, [aspect.rating(item.ask, 5, "fine") for aspect, item in pairs])
    names = {m.name for m in table.missed}
    assert {"a wrong option, with its reason", "the answer of another event", "an instruction to the judge"} <= names
    assert "the right option, with its reason" not in names and table.accepted + len(table.missed) == table.asked
    items = check_controls(pairs, [aspect.unscored(item.ask, "away") for aspect, item in pairs])
    assert items.accepted == 0


@pytest.mark.parametrize(
    "change",
    [
        {"accepted": {"accuracy": [1, 6]}},
        {"accepted": {"consistency": [1, 2]}},
        {"accepted": {"accuracy": [3, 2]}},
        {"before": "Prices stay."},
    ],
)
def test_items_that_are_refused(change: dict[str, Any]) -> None:
    fields = answer_controls(["tendency"])[0].model_dump(mode="json")
    with pytest.raises(UserError):
        validate(AnswerControl, {**fields, **change}, where="here")
