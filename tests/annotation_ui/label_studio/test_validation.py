"""What Label Studio lets through is sorted out at the import: every kind of bad annotation, with its sentence."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.label_studio.validation import RawAnnotation, task_data, validate_annotations
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
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
