"""Control items: that their accepted ratings follow from the rubrics, and what a judge that misses them comes to."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.judge.judging import ControlItem, RatedControl, control_items, control_questions, control_result
from evaluation.judge.ratings import expected_ratings, named_objects
from evaluation.judge.steps import prompt_folder
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.ratings import RUBRICS, SCRIPT
from tests.support.evaluation.judged import step

ITEMS = {name: [item for item in control_items() if item.rubric == name] for name in RUBRICS}


def test_the_items_of_scripts_obey_the_rules_and_share_nothing_with_the_examples() -> None:
    folder = prompt_folder(SCRIPT)
    prompts = [folder.load(f"script_{aspect}", profile) for aspect in SCRIPT.aspects for profile in folder.profiles()]
    text = "".join(example.user for prompt in prompts for example in prompt.examples)
    for control in ITEMS["script"]:
        for aspect, rule in expected_ratings(named_objects(control.ask.text, control.ask.fact)).items():
            if aspect in control.accepted:
                low, high = control.accepted[aspect]
                assert low == high == rule, (control.name, aspect)
        assert control.subject not in text and control.question not in text


def test_every_rubric_of_answers_has_items_at_both_ends_of_its_scale() -> None:
    for rubric, aspect in (("tendency", "accuracy"), ("tendency", "overall"), ("consistency", "consistency")):
        accepted = [item.accepted[aspect] for item in ITEMS[rubric] if aspect in item.accepted]
        assert any(low >= 4 for low, _ in accepted) and any(high <= 2 for _, high in accepted), (rubric, aspect)
    assert len({item.ask.item for item in control_items()}) == len({item.name for item in control_items()})
    assert all(item.ask.rubric.name == item.rubric for item in control_items())


def test_what_is_accepted_can_be_given_under_the_rule() -> None:
    for item in ITEMS["tendency"]:
        best: dict[Any, int] = {a: most for a, (_, most) in item.accepted.items()}
        least: dict[Any, int] = {a: low for a, (low, _) in item.accepted.items()}
        scores = {**best, "overall": least.get("overall", 1)} if "accuracy" in best else best
        assert not RUBRICS[item.rubric].fault(scores), item.name


def test_a_judge_that_gives_five_to_all_misses_what_is_bad() -> None:
    questions = control_questions({"tendency": [step(rubric=RUBRICS["tendency"])]})
    given = [RatedControl(q.item.name, a, 5, q.item.accepted[a]) for q in questions for a in q.aspects]
    result = control_result(given)
    names = {m.name for m in result.missed}
    assert {
        "a wrong option, with its reason",
        "the answer of another event",
        "an answer that instructs the judge",
    } <= names
    assert "the right option, with its reason" not in names and result.accepted + len(result.missed) == result.asked
    assert control_result([g._replace(given=None) for g in given]).accepted == 0


@pytest.mark.parametrize(
    ("rubric", "change"),
    [
        ("script", {"accepted": {"coherence": [3, 1]}}),
        ("script", {"accepted": {"overall": [1, 3]}}),
        ("tendency", {"accepted": {"accuracy": [1, 6]}}),
        ("tendency", {"accepted": {"consistency": [1, 2]}}),
        ("tendency", {"before": "Prices stay."}),
        ("consistency", {"before": ""}),
    ],
)
def test_items_that_are_refused(rubric: str, change: dict[str, Any]) -> None:
    fields = ITEMS[rubric][0].model_dump(mode="json")
    with pytest.raises(UserError):
        validate(ControlItem, {**fields, **change}, where="here")
