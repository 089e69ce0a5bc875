"""The form as Label Studio takes it, answers there and back, and every kind of bad annotation with its sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.label_studio.client import read_export
from annotation_ui.label_studio.validation import (
    RawAnnotation,
    label_config,
    parse_result,
    task_data,
    validate_annotations,
)
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import Field, Form, mark, markable
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.annotation_ui.cli.conftest import call
from tests.annotation_ui.conftest import begin
from tests.support.app.label_studio_results import build_result

FORM = FilterQuestion.form
YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
COMMENT_OF_NUMBERS = [{"from_name": "comment", "value": {"text": [None, 3]}}]


@pytest.fixture
def ready(db: RatingsDB, store: Store) -> RatingsDB:
    begin(db, store, "filter", "filter_question", "ann", "bob", overlap=1)
    return db


def good(db: RatingsDB, person: str = "ann", n: int = 0, **change: Any) -> RawAnnotation:
    item = db.assignments("filter", person)[n].item
    base = RawAnnotation(
        item=item,
        data=task_data(db.item("filter", item).item, FORM),
        person=person,
        account="7",
        result=build_result(YES, FORM),
        at="2026-01-01T00:00:00Z",
        seconds=3.5,
        unique=f"{person}{n}",
    )
    data = {**base.data, **change.pop("data", {})}
    return base._replace(data={k: v for k, v in data.items() if v is not None}, **change)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"item": None}, "its task was not pushed from this ratings file"),
        ({"data": {"scedit_item": "f" * 20}}, "the task's data was changed: it names another item"),
        ({"person": None}, "the account 7 does not belong to an invited rater"),
        ({"forged": True}, "it names ann, but another account wrote it"),
        ({"data": {"scedit_form": None}}, "the task's data was changed: it names no form"),
        ({"data": {"scedit_form": "filter_question@9"}}, "it was given to the form filter_question@9"),
        ({"item": "e" * 20, "data": {"scedit_item": "e" * 20}}, "the item is not assigned to ann"),
        ({"result": build_result({**YES, "guides": "perhaps"}, FORM)}, "'guides' is 'perhaps'; allowed: yes, no"),
        (
            {"result": build_result({"meaningful": "yes"}, FORM)},
            "'depends' has no answer; 'changes' has no answer; 'guides' has no answer",
        ),
        ({"result": build_result({**YES, "guides": "no"}, FORM)}, "'guides' is no without a reason"),
        ({"result": [{"from_name": "zeal", "value": {}}]}, "unknown control 'zeal'"),
        ({"result": "yes"}, "the annotation has no list of results"),
        ({"result": [{"from_name": ["guides"], "value": {}}]}, "unknown control ['guides']"),
        ({"result": [{"from_name": {"a": 1}, "value": {}}]}, "unknown control {'a': 1}"),
        ({"result": build_result({**YES, "comment": "x\ud800"}, FORM)}, "'comment' holds half a character"),
        ({"seconds": "abc"}, "its lead time is 'abc', not a number of seconds"),
        ({"seconds": -1}, "its lead time is -1"),
        ({"seconds": 1e308}, "its lead time is 1e+308"),
        ({"seconds": float("nan")}, "its lead time is nan"),
        ({"seconds": 10**400}, "its lead time is 1000"),
        ({"seconds": True}, "its lead time is True"),
        ({"seconds": [1]}, "its lead time is [1]"),
        ({"unique": "\ud800"}, "its name or date holds half a character"),
        ({"at": "\udfff"}, "its name or date holds half a character"),
        ({"data": {"scedit_form": "\ud800"}}, "it was given to the form \\ud800"),
        ({"fault": "it is no annotation", "person": None}, "it is no annotation"),
        ({"result": [{"from_name": "guides", "value": {"choices": ["--5"]}}]}, "'guides' is '--5'"),
        ({"result": build_result(YES, FORM) + COMMENT_OF_NUMBERS}, "'comment' is not text"),
        *(
            ({"at": at}, "its date")
            for at in ("yesterday", "2999-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "{'a': 1}")
        ),
    ],
)
def test_bad_annotations_are_refused_with_a_reason(ready: RatingsDB, change: dict[str, Any], reason: str) -> None:
    annotation = good(ready, n=1)
    validation = validate_annotations(ready, "filter", [good(ready, **change), annotation])
    assert (validation.answers, validation.new) == (1, 1), "one that is bad stops no other"
    assert reason in validation.rejected[0].why
    assert [r.item for r in ready.history("filter")] == [annotation.item]
    "".join(map(str, validation.rejected[0])).encode("utf-8")  # it can be written into a report


def test_an_item_of_another_rater_is_refused(ready: RatingsDB) -> None:
    validation = validate_annotations(ready, "filter", [good(ready)._replace(person="bob")])
    assert "is not assigned to 'bob'" in validation.rejected[0].why and not ready.history("filter")


def test_skipped_items_are_no_fault(ready: RatingsDB) -> None:
    validation = validate_annotations(ready, "filter", [good(ready, cancelled=True, result=[])])
    assert (validation.answers, validation.rejected) == (0, ()) and validation.ignored[0].why == "it was skipped"


def test_a_report_s_line_stays_short_whatever_a_name_s_length(ready: RatingsDB) -> None:
    long = "x" * 1_000_000
    annotations = [
        good(ready, unique=long, data={"scedit_form": long}),
        good(ready, n=1, item=long),
        good(ready, n=2, person=None, account=long),
    ]
    result = validate_annotations(ready, "filter", [*annotations, good(ready, "bob")])
    assert (result.answers, len(result.rejected)) == (1, 3)
    assert max(len(cell) for fault in result.rejected for cell in fault) <= 403


def test_the_latest_is_the_latest_whatever_the_time_zone(ready: RatingsDB) -> None:
    late = good(ready, unique="1", at="2026-01-01T09:00:00Z", result=build_result({**YES, "comment": "late"}, FORM))
    early = good(ready, unique="2", at="2026-01-01T10:00:00+05:00")  # 05:00 in UTC
    annotation = good(ready, unique="3", at="yesterday")
    validation = validate_annotations(ready, "filter", [late, early, annotation])
    assert validation.answers == 1
    assert [[r.annotation for r in some] for some in (validation.rejected, validation.ignored)] == [["3"], ["2"]]
    assert (ready.current_answers("filter")[0].answers or {})["comment"] == "late"


def test_a_name_that_is_used_for_two_items_loses_no_answer_silently(ready: RatingsDB) -> None:
    first, second = good(ready, n=0, unique="same"), good(ready, n=1, unique="same")
    validation = validate_annotations(ready, "filter", [first, second])
    assert (validation.answers, validation.new, len(validation.rejected)) == (1, 1, 1)
    assert "used for an answer to another item" in validation.rejected[0].why
    pull_result = validate_annotations(ready, "filter", [first, second])
    assert (pull_result.answers, pull_result.new, len(pull_result.rejected)) == (1, 0, 1)


def test_times_are_the_annotator_s(ready: RatingsDB) -> None:
    validate_annotations(ready, "filter", [good(ready, at="2026-01-01T10:00:00+05:00"), good(ready, n=1, at="")])
    revision, undated_item = ready.current_answers("filter")
    if revision.saved_at > "2026-01-02":
        revision, undated_item = undated_item, revision
    assert revision.saved_at == "2026-01-01T05:00:00.000+00:00"
    received = [r[0] for r in ready.connection.execute("SELECT received_at FROM revisions ORDER BY saved_at")]
    assert received[0] > "2026-01-02" and received[1] is None and undated_item.saved_at > "2026-01-02"


def test_an_older_annotation_replaces_no_newer_answer(ready: RatingsDB) -> None:
    item = ready.assignments("filter", "ann")[0].item
    ready.save("filter", "ann", item, {**YES, "comment": "in the app"}, form=FORM.label)
    for at in ("2026-01-01T00:00:00Z", ""):
        (rejection,) = validate_annotations(ready, "filter", [good(ready, at=at)]).rejected
        assert "a newer answer of ann counts" in rejection.why
    assert len(ready.history("filter")) == 1
    ready.save("filter", "ann", item, None, form=FORM.label)  # withdrawn: it does not come back by itself
    assert validate_annotations(ready, "filter", [good(ready)]).answers == 0


def test_an_annotation_that_was_changed_under_its_old_date_is_told(ready: RatingsDB) -> None:
    validate_annotations(ready, "filter", [good(ready)])
    annotation = good(ready, result=build_result({**YES, "comment": "other"}, FORM))
    (rejection,) = validate_annotations(ready, "filter", [annotation]).rejected
    assert "without a new date" in rejection.why and "comment" not in (ready.current_answers("filter")[0].answers or {})


def test_of_duplicates_the_latest_good_one_holds_and_the_rest_is_reported(ready: RatingsDB) -> None:
    early = good(ready, unique="1", at="2026-01-01T00:00:00Z")
    late = good(ready, unique="2", at="2026-01-02", result=build_result({**YES, "comment": "late"}, FORM))
    latest_bad = good(ready, unique="3", at="2026-01-03", result=[])
    validation = validate_annotations(ready, "filter", [late, latest_bad, early])
    assert validation.answers == 1
    assert [(f.annotation, f.why.split(";")[0]) for f in validation.rejected] == [("3", "'meaningful' has no answer")]
    assert [(f.annotation, f.why) for f in validation.ignored] == [
        ("1", "a later one of the same person on the same item counts")
    ]
    assert ready.current_answers("filter")[0].answers == {**YES, "comment": "late"}


def test_a_changed_annotation_is_a_new_revision(ready: RatingsDB) -> None:
    validate_annotations(ready, "filter", [good(ready)])
    annotation = good(
        ready, at="2026-02-01", result=build_result({**YES, "guides": "no", "reasons": ["duplicate"]}, FORM)
    )
    assert validate_annotations(ready, "filter", [annotation]).new == 1
    assert len(ready.history("filter")) == 2
    assert (ready.current_answers("filter")[0].answers or {})["guides"] == "no"


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("[" * 100_000 + "]" * 100_000, "not readable as JSON"),
        ('[{"annotations": [', "not readable as JSON"),
        ('[{"choice": "yes"}]', "no list of tasks with annotations"),
    ],
    ids=["none", "deep", "cut", "min"],
)
def test_exports_that_are_none_are_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "e.json").write_text(content)
    with pytest.raises(UserError, match=message):
        read_export(tmp_path / "e.json")


def test_odd_comparisons_and_marks_in_an_export_are_refused_one_by_one(
    db: RatingsDB, store: Store, tmp_path: Path
) -> None:
    """Pairs with marked words, among them the same script twice; each answer is odd in its own way but two."""
    task, twice = make_task("compare_executability", spans=True), {"first": "Step 1: Go", "second": "Step 1: Go"}
    known = RaterControlItem(purpose="attention", id="k", shown=twice, expected={"executability": "tie"})
    begin(db, store, "pairs", "compare_executability", "ann", spans=True, known=[known])
    items = [p.item for p in db.items("pairs").values()]
    items.sort(key=lambda item: item.case != "known/k")
    tie, first = ({"executability": a} for a in ("tie", "first"))
    text = items[2].shown["second"]
    value = {"start": 0, "end": 4, "labels": ["fail"], "text": text[:4]}
    region = {"from_name": "marked_in_second", "to_name": "shown_second", "type": "labels", "value": value}
    odd = [
        ({"choices": ["first", "second"]}, [], "'executability' is ['first', 'second']"),
        ({"choices": ["both"]}, [], "allowed: first, second, tie, cannot_judge"),
        ({"choices": [{"first": 1}]}, [], "allowed: first, second, tie, cannot_judge"),
        ({"choices": ["first"]}, [region | {"to_name": "shown_first"}], "was set in another text"),
        ({"choices": ["first"]}, [region | {"from_name": "marked_in_third"}], "unknown control 'marked_in_third'"),
    ]
    results = [build_result(tie, task.form), [*build_result(first, task.form), region]]
    results += [
        [{"from_name": "executability", "to_name": "shown_second", "value": choice}, *more] for choice, more, _ in odd
    ]
    value["text"] = items[1].shown["second"][:4]
    export = [
        {"id": n, "data": task_data(item, task.form), "annotations": [{
            "id": n, "completed_by": 7, "result": result, "updated_at": "2026-01-01T00:00:00Z", "lead_time": 4,
        }]} for n, (item, result) in enumerate(zip(items, results, strict=False))
    ]  # fmt: skip
    export += [
        {"id": 90 + n, "data": data, "annotations": [{"id": 90 + n, "completed_by": 7, "result": results[0]}]}
        for n, data in enumerate([{"first": "a"}, {"scedit_item": items[0].id}, None, ["first", "second"]])
    ]
    path, report = tmp_path / "export.json", tmp_path / "refused.jsonl"
    path.write_text(json.dumps(export), encoding="utf-8")
    words = ("label-studio", "pull", "pairs", "-r", db.path, "--export", path, "--account", "7=ann", "--report", report)
    assert call(*words).exit_code == 1
    rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len(odd) + 4 and len(db.current_answers("pairs")) == 2
    for _, _, message in odd:
        assert any(message in row["why"] for row in rows), message
    store.close()
    strengths = json.loads(call("strengths", "pairs", "-r", db.path, "-s", store.path, "--json").stdout)
    assert "executability" in strengths, "an item with a known answer compares no methods"
