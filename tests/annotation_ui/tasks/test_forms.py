"""The gate: what a form lets through and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.tasks import TASKS
from annotation_ui.tasks.forms import COMMENT_LENGTH, Field, FieldOption
from annotation_ui.tasks.generated_scripts import RateScript
from annotation_ui.tasks.script_questions import FilterQuestion, QualitySample

YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
SEVEN = {"coherence": 7, "consistency": 7, "completeness": 7}


@pytest.mark.parametrize("name", TASKS.names())
def test_every_form_passes_a_good_answer_and_refuses_an_empty_one(name: str) -> None:
    form = TASKS.get(name).form
    good = {f.name: f.high if f.kind == "scale" else f.allowed[0] for f in form.asked_fields()}
    assert form.faults(good) == []
    assert len(form.faults({})) == sum(field.required for field in form.asked_fields())
    assert form.name == name
    assert form.fields[-1].name == "comment"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"guides": "maybe"}, "'guides' is 'maybe'; allowed: yes, no"),
        ({"guides": None}, "'guides' has no answer"),
        ({"guides": "no"}, "'guides' is no without a reason in 'reasons'"),
        ({"guides": "no", "reasons": ["target_not_forced", "x"]}, "'reasons' names 'x'; allowed: not_asked"),
        ({"guides": "no", "reasons": "other"}, "'reasons' is not a list of different choices"),
        ({"guides": "no", "reasons": ["other"]}, "the reason 'other' needs a comment"),
        ({"reasons": ["other", "other"], "comment": "x"}, "'reasons' is not a list of different choices"),
        ({"comment": 3}, "'comment' is not text"),
        ({"comment": "x" * (COMMENT_LENGTH + 1)}, "longer than"),
        ({"score": 9}, "unknown field 'score'"),
    ],
)
def test_filter_faults(change: dict[str, Any], fault: str) -> None:
    faults = FilterQuestion.form.faults({**YES, **change})
    assert len(faults) == 1
    assert fault in faults[0]


@pytest.mark.parametrize("value", [0, 8, 9, "7", 3.0, True, [3], float("nan")])
def test_a_scale_takes_its_integers_only(value: Any) -> None:
    faults = RateScript.form.faults({**SEVEN, "consistency": value})
    assert len(faults) == 1
    assert "allowed: 1 to 7" in faults[0]


def test_a_no_of_the_quality_sample_says_why() -> None:
    answers = {"question": "no", "change": "yes", "cut": "yes"}
    assert QualitySample.form.faults(answers) == ["'question' is no without a comment that says why"]
    assert QualitySample.form.faults({**answers, "comment": "nonsense"}) == []


def test_clean_keeps_the_order_and_drops_what_is_empty() -> None:
    clean = FilterQuestion.form.clean({"comment": "  ", "reasons": [], **YES, "unknown": 1})
    assert list(clean) == ["meaningful", "depends", "changes", "guides"]


def test_malformed_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="has choices"):
        Field(name="x", kind="yes_no", asks="?", choices=(FieldOption(value="a", text="A"),))
    with pytest.raises(ValueError, match="lower to a higher"):
        Field(name="x", kind="scale", asks="?", low=7, high=1)
