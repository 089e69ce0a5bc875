"""What comes back: annotations as they are read, and what was rated against what was pushed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.label_studio.test_client import (
    FORM,
    YES,
    annotate,
    campaign,
    client,
    site,
    studio,
)

__all__ = ["site", "studio"]


def test_a_task_whose_item_was_changed_and_one_that_we_never_pushed_are_refused(
    db: RatingsDB, store: Store, site: Any
) -> None:
    campaign(db, store, "filter_question", 1, "ann")
    ((_, number),) = site.push(db, "c").projects.items()
    first, second, third = site.sdk.tasks[number][:3]
    annotate(first, 7, id=1)
    first["data"]["scedit_item"] = second["data"]["scedit_item"]
    annotate(second, 9, id=2)  # an account of nobody
    foreign = {"id": 9999, "data": dict(third["data"]), "annotations": []}
    annotate(foreign, 7, id=3)
    site.sdk.tasks[number].append(foreign)
    pull_result = site.pull(db, "c")
    assert pull_result.answers == 0
    assert {r.annotation: r.person for r in pull_result.rejected} == {"1": "ann", "2": "account 9", "3": "ann"}
    reason = {r.annotation: r.why for r in pull_result.rejected}
    assert "another item" in reason["1"] and "9" in reason["2"] and "not pushed" in reason["3"]


@pytest.fixture
def pushed(db: RatingsDB, store: Store, site: Any) -> tuple[Any, list[dict[str, Any]]]:
    """A site with a campaign of ann's, and the tasks there."""
    campaign(db, store, "filter_question", 1, "ann")
    ((_, number),) = site.push(db, "c").projects.items()
    return site, site.sdk.tasks[number]


@pytest.fixture
def rated(pushed: tuple[Any, list[dict[str, Any]]]) -> tuple[Any, list[dict[str, Any]]]:
    """The same, with answers to the first two tasks."""
    for number, task in enumerate(pushed[1][:2], 1):
        annotate(task, 7, id=number)
    return pushed


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("cut", "Step 1: Something else", "the task's data was changed since the push"),
        ("question", None, "the task's data was changed since the push"),
        ("extra", "a hint", "the task's data was changed since the push"),
        ("scedit_form", None, "it names no form"),
        ("scedit_form", "filter_question@7", "it was given to the form filter_question@7"),
        ("scedit_item", None, "the task's data was changed since the push"),
    ],
)
def test_what_was_rated_must_be_what_was_pushed(
    db: RatingsDB, rated: Any, key: str, value: str | None, reason: str
) -> None:
    site, (first, *_) = rated
    if value is None:
        del first["data"][key]
    else:
        first["data"][key] = value
    pull_result = site.pull(db, "c")
    assert (pull_result.answers, [r.annotation for r in pull_result.rejected]) == (1, ["1"])
    assert reason in pull_result.rejected[0].why


def test_changed_anchors_refuse_the_whole_project_and_another_spelling_does_not(db: RatingsDB, pushed: Any) -> None:
    site, (first, *_) = pushed
    annotate(first, 7)
    annotations = site.sdk.made[1]
    before = annotations["label_config"]
    annotations["label_config"] = before.replace("/>", " />").replace("\n", "\n\n")
    assert site.pull(db, "c").answers == 1
    annotations["label_config"] = before.replace(
        "Would a correct script clearly change", "Would a script change a little"
    )
    assert annotations["label_config"] != before
    (rejection,) = site.pull(db, "c").rejected
    assert "labelling configuration" in rejection.why and "changed since the push" in rejection.why
    annotations["label_config"] = "<View"
    assert site.pull(db, "c").answers == 0


def test_a_form_that_was_changed_without_its_version_is_not_pushed_again(
    db: RatingsDB, pushed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, _ = pushed
    monkeypatch.setattr(make_task("filter_question").__class__, "form", FORM.model_copy(update={"title": "New"}))
    with pytest.raises(client.UserError, match="raise its version"):
        site.push(db, "c")


def test_an_annotation_that_was_deleted_is_told_and_its_answer_holds(db: RatingsDB, rated: Any) -> None:
    site, (first, *_) = rated
    site.pull(db, "c")
    first["annotations"].clear()
    pull_result = site.pull(db, "c")
    (word,) = pull_result.missing
    assert "annotation 1 of ann" in word and "was deleted" in word
    assert len(db.current_answers("c")) == 2
    db.save("c", "ann", first["data"]["scedit_item"], YES, form=FORM.label)
    assert site.pull(db, "c").missing == (), "another answer holds by now"


def test_an_annotation_that_was_given_to_somebody_else_is_refused(db: RatingsDB, store: Store, site: Any) -> None:
    campaign(db, store, "filter_question", 2, "ann", "bob")
    ((_, number),) = site.push(db, "c").projects.items()
    task = site.sdk.tasks[number][0]
    annotate(task, 7)
    site.pull(db, "c")
    task["annotations"][0] |= {"completed_by": 8, "updated_by": 8, "updated_at": "2026-03-01"}
    pull_result = site.pull(db, "c")
    assert (pull_result.answers, [r.person for r in pull_result.rejected]) == (0, ["bob"])
    assert "it was ann's" in pull_result.rejected[0].why and "re-assigned" in pull_result.rejected[0].why
    assert [r.person for r in db.current_answers("c")] == ["ann"]


@pytest.mark.parametrize("data", ["x", [1], 5, None])
def test_a_task_whose_data_is_no_object_stops_neither_push_nor_pull(db: RatingsDB, rated: Any, data: Any) -> None:
    site, (first, *_) = rated
    first["data"] = data
    db.connection.execute("DELETE FROM links WHERE kind = 'task/c/*'")  # so that the push looks at what is there
    site.sdk.tasks[1].append({"id": 9999, "data": data, "annotations": []})
    site.push(db, "c")
    pull_result = site.pull(db, "c")
    assert pull_result.answers == 1 and [r.annotation for r in pull_result.rejected] == ["1"]


def test_an_export_is_compared_with_what_was_pushed(db: RatingsDB, rated: Any, tmp_path: Any) -> None:
    from tests.annotation_ui.cli.conftest import call

    _, (first, second, *_) = rated
    first["data"]["cut"] = "changed"
    path = tmp_path / "e.json"
    path.write_text(json.dumps([first, second, "no task", {"id": 3}]))
    result = call("label-studio", "pull", "c", "-r", db.path, "--export", path, "--account", "7=ann", "--json")
    data = json.loads(result.output)
    assert (result.exit_code, data["answers"]) == (1, 1)
    assert sorted(r["why"].split(":")[0] for r in data["refused"]) == [
        *["it is no task that can be read"] * 2,
        "the task's data was changed since the push",
    ]


@pytest.mark.parametrize(
    ("by", "texts", "person", "forged"),
    [
        (7, 7, "ann", False),
        ({"id": 7}, 7, "ann", False),
        ("7", None, "ann", False),
        (7, 8, "ann", True),
        (8, 8, None, False),
        (None, 7, None, True),
    ],
)
def test_whose_an_annotation_is(by: Any, texts: Any, person: str | None, forged: bool) -> None:
    task = {"id": 5, "data": {"scedit_item": "i"}, "annotations": [{"id": 1, "completed_by": by, "updated_by": texts}]}
    (annotation,) = client.annotations_of_task(task, {"7": "ann"}, {"5": "i"})
    assert (annotation.person, annotation.forged) == (person, forged)


@pytest.mark.parametrize("annotations", [["x"], [None], [[]], {"a": 1}, "abc", 5])
def test_annotations_that_are_no_objects_are_handed_on_to_be_refused(annotations: Any) -> None:
    task = {"id": 1, "data": {"scedit_item": "i"}, "annotations": annotations}
    (annotation,) = client.annotations_of_task(task, {"7": "ann"}, None)
    assert (annotation.item, annotation.person) == ("i", None) and "no annotation" in annotation.fault
