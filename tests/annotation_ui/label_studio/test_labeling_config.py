"""The form as Label Studio takes it: valid by the SDK, offline; answers survive the way there and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.label_studio.validation import label_config, parse_result, task_data
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import Field, Form, mark, markable
from tests.support.app.label_studio_results import build_result

LabelInterface: Any = pytest.importorskip("label_studio_sdk.label_interface").LabelInterface

FORMS = [TASKS.get(n).form for n in TASKS.names()]
RATING = make_task("rate_script").form
FILTERING = make_task("filter_question", spans=True).form
MARKING = [make_task(n, spans=True).form for n in TASKS.names()]


def item(form: Form) -> TaskItem:
    return TaskItem(id="a" * 20, case="c", stratum="tiny rome", shown={s.name: "<b>1 & 2</b>" for s in form.shows})


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.name)
def test_the_configuration_is_valid_takes_the_tasks_and_its_sample_annotation_passes_the_form(form: Form) -> None:
    label = LabelInterface(label_config(form))
    label.validate()
    assert label.validate_task({"data": task_data(item(form), form)})
    assert {f.name for f in form.fields} == set(label._controls)
    answers, faults = parse_result(label.generate_sample_annotation()["result"], form)
    assert not faults
    assert not [f for f in form.faults(answers) if "without a" not in f and "needs a comment" not in f]


def answers_for(form: Form) -> st.SearchStrategy[dict[str, Any]]:
    def of(field: Field) -> st.SearchStrategy[Any]:
        if field.kind == "text":
            return st.text(min_size=1, max_size=40)
        if field.kind == "many":
            return st.lists(st.sampled_from(field.allowed), unique=True, min_size=1)
        return st.sampled_from(field.allowed)

    return st.fixed_dictionaries({f.name: of(f) for f in form.fields})


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.name)
def test_answers_survive_the_way_there_and_back(form: Form) -> None:
    @given(answers_for(form))
    def check(answers: dict[str, Any]) -> None:
        assert parse_result(build_result(answers, form), form) == (answers, [])

    check()


def test_nothing_that_would_bias_is_in_a_task() -> None:
    form = make_task("rate_script").form
    data = task_data(item(form), form)
    assert set(data) == {s.name for s in form.shows} | {"scedit_item", "scedit_form"}
    assert "rome" not in str(data)


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (None, "the annotation has no list of results"),
        ([{"from_name": "beauty", "value": {}}], "unknown control 'beauty'"),
        (["x"], "unknown control None"),
        (build_result({"coherence": 3}, RATING) * 2, "'coherence' is answered twice"),
    ],
)
def test_unreadable_results_are_faults(result: Any, fault: str) -> None:
    assert parse_result(result, RATING)[1] == [fault]


@pytest.mark.parametrize(
    "value",
    [
        *({"choices": [text]} for text in ("9", "x", "--5", "-", "03", "+3", "3.0", "\u0663", "1" * 5000)),
        *({"choices": ["3", "4"]}, {"choices": []}, {"rating": 0}, "3", None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_odd_values_reach_the_form_and_are_refused(value: Any) -> None:
    form = RATING
    good = [
        r
        for r in build_result({"coherence": 1, "consistency": 2, "completeness": 3}, form)
        if r["from_name"] != "coherence"
    ]
    answers, faults = parse_result([*good, {"from_name": "coherence", "value": value}], form)
    assert not faults
    assert len(form.faults(answers)) == 1


@pytest.mark.parametrize("form", MARKING, ids=lambda f: f.name)
def test_marked_words_are_labels_on_each_text_and_come_back_as_they_went(form: Form) -> None:
    label = LabelInterface(label_config(form))
    label.validate()
    texts = [s.name for s in markable(form)]
    assert {f"marked_in_{t}" for t in texts} < set(label._controls)
    values = {s.name: f"One 🛫 two\nthree in {s.name}" for s in form.shows}
    option = form.field("marked").choices[0].value
    marks = [mark(values, t, 4, 9, option) for t in texts]
    result = build_result({"marked": marks}, form)
    assert parse_result(result, form, values) == ({"marked": marks}, [])
    for region in result:  # as a browser counts: the sign takes two places
        region["value"]["end"] += 1
        region["value"]["text"] = region["value"]["text"].replace("\n", "\\n")
    assert parse_result(result, form, values) == ({"marked": marks}, [])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"start": 4, "end": 9, "labels": ["leak"], "text": "other"}, "other words"),
        ({"start": 4, "end": 10**9, "labels": ["leak"]}, "other words"),
        ({"start": "4", "end": 9, "labels": ["leak"]}, "from where"),
        ({"start": True, "end": 9, "labels": ["leak"]}, "from where"),
        ({"start": 1e308, "end": 9, "labels": ["leak"]}, "from where"),
        ({"start": 9, "end": 4, "labels": ["leak"]}, "from where"),
        ({"start": 4, "end": 9, "labels": ["leak", "fail"]}, "one label"),
        ({"start": 4, "end": 9, "labels": [["leak"]]}, "one label"),
        ({"start": 4, "end": 9}, "one label"),
        (None, "from where"),
        ([], "from where"),
        ({"start": 4.0, "end": 9, "labels": ["leak"]}, "from where"),
        ({"start": -4, "end": 9, "labels": ["leak"]}, "from where"),
        ({"start": 4, "end": 4, "labels": ["leak"]}, "from where"),
        ({"start": 10**4000, "end": 10**4001, "labels": ["leak"]}, "other words"),
        ({"start": 5, "end": 6, "labels": ["leak"], "text": "\ud83d"}, "other words"),  # half of a sign
        ({"start": 5, "end": 9, "labels": ["leak"], "text": "\udeeb two"}, "other words"),
        ({"start": 17, "end": 20, "labels": ["leak"]}, "other words"),  # where the text has ended
    ],
)
def test_a_region_that_is_no_mark_is_a_fault(value: Any, message: str) -> None:
    form, region = FILTERING, {"from_name": "marked_in_cut", "value": value}
    answers, faults = parse_result([region], form, {"cut": "One 🛫 two three"})
    assert "marked" not in answers and len(faults) == 1 and message in faults[0]


def test_regions_of_another_text_or_over_one_another_are_refused() -> None:
    shown = {"cut": "One two three", "question": "One two three?", "edit": "a"}
    value = {"start": 0, "end": 7, "labels": ["leak"], "text": "One two"}
    region = {"from_name": "marked_in_cut", "to_name": "shown_question", "value": value}
    assert parse_result([region], FILTERING, shown) == ({}, ["'marked' in 'cut' was set in another text"])
    known = region | {"to_name": "shown_cut"}
    other = known | {"value": {"start": 4, "end": 13, "labels": ["leak"], "text": "two three"}}
    answers, faults = parse_result([known, other], FILTERING, shown)
    assert not faults and any("marks words twice" in f for f in FILTERING.faults(answers))
    answers, faults = parse_result([known] * 101, FILTERING, shown)
    assert not faults and any("allowed: at most 100" in f for f in FILTERING.faults(answers))
