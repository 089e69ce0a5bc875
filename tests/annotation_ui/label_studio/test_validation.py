"""What Label Studio lets through is sorted out at the import: every kind of bad annotation, with its sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.label_studio.labeling_config import build_result
from annotation_ui.label_studio.validation import RawAnnotation, read_export, validate_annotations
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.filter_question import FilterQuestion
from curation.store.store import Store
from schemas.core.errors import DataError, UserError

FORM = FilterQuestion.form
YES = {"meaningful": "yes", "changes": "yes", "guides": "yes"}


@pytest.fixture
def ready(db: RatingsDB, store: Store) -> RatingsDB:
    people.invite(db, "ann")
    people.invite(db, "bob")
    create_campaign(db, store, "filter", make_task("filter_question"), CampaignOptions(overlap=1))
    assign_items(db, "filter")
    return db


def good(db: RatingsDB, person: str = "ann", n: int = 0, **change: Any) -> RawAnnotation:
    item = db.assignments("filter", person)[n].item
    base = RawAnnotation(
        item=item,
        named=item,
        form=FORM.label,
        person=person,
        account="7",
        forged=False,
        result=build_result(YES, FORM),
        cancelled=False,
        at="2026-01-01T00:00:00Z",
        seconds=3.5,
        unique=f"{person}{n}",
    )
    return base._replace(**change)


def test_good_annotations_become_answers_once(ready: RatingsDB) -> None:
    given = [good(ready, "ann", 0), good(ready, "bob", 0)]
    assert validate_annotations(ready, "filter", given)[:3] == (2, 2, ())
    assert validate_annotations(ready, "filter", given)[:3] == (2, 0, ())
    (first, _) = ready.current_answers("filter")
    assert first.answers == YES and first.seconds == 3.5


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"item": None}, "its task was not pushed from this ratings file"),
        ({"named": "f" * 20}, "the task's data was changed: it names another item"),
        ({"cancelled": True}, "it was skipped"),
        ({"person": None}, "the account 7 does not belong to an invited rater"),
        ({"forged": True}, "it names ann, but another account wrote it"),
        ({"form": "filter_question@9"}, "it was given to the form filter_question@9"),
        ({"item": "e" * 20, "named": "e" * 20}, "the item is not assigned to ann"),
        ({"result": build_result({**YES, "guides": "perhaps"}, FORM)}, "'guides' is 'perhaps'; allowed: yes, no"),
        ({"result": build_result({"meaningful": "yes"}, FORM)}, "'changes' has no answer; 'guides' has no answer"),
        ({"result": build_result({**YES, "guides": "no"}, FORM)}, "'guides' is no without a reason"),
        ({"result": [{"from_name": "zeal", "value": {}}]}, "unknown control 'zeal'"),
        ({"result": "yes"}, "the annotation has no list of results"),
    ],
)
def test_bad_annotations_are_refused_with_a_reason(ready: RatingsDB, change: dict[str, Any], why: str) -> None:
    done = validate_annotations(ready, "filter", [good(ready, **change)])
    assert (done.answers, done.new) == (0, 0)
    assert why in done.rejected[0].why
    assert ready.history("filter") == []


def test_of_duplicates_the_latest_good_one_holds_and_the_rest_is_reported(ready: RatingsDB) -> None:
    early = good(ready, unique="1", at="2026-01-01T00:00:00Z")
    late = good(ready, unique="2", at="2026-01-02", result=build_result({**YES, "comment": "late"}, FORM))
    latest_bad = good(ready, unique="3", at="2026-01-03", result=[])
    done = validate_annotations(ready, "filter", [late, latest_bad, early])
    assert done.answers == 1
    assert {f.annotation: f.why.split(";")[0] for f in done.rejected} == {
        "1": "a later one of the same person on the same item holds",
        "3": "'meaningful' has no answer",
    }
    assert ready.current_answers("filter")[0].answers == {**YES, "comment": "late"}


def test_a_changed_annotation_is_a_new_revision(ready: RatingsDB) -> None:
    validate_annotations(ready, "filter", [good(ready)])
    changed = good(ready, at="2026-02-01", result=build_result({**YES, "guides": "no", "reasons": ["duplicate"]}, FORM))
    assert validate_annotations(ready, "filter", [changed]).new == 1
    assert len(ready.history("filter")) == 2
    assert (ready.current_answers("filter")[0].answers or {})["guides"] == "no"


def test_a_recorded_export_goes_through_the_same_gate(ready: RatingsDB, tmp_path: Path) -> None:
    pytest.importorskip("label_studio_sdk")
    from annotation_ui.label_studio.client import annotations_of_task

    item = ready.assignments("filter", "ann")[0].item
    task = {
        "id": 5,
        "data": {"scedit_item": item, "scedit_form": FORM.label},
        "annotations": [
            {"id": 1, "completed_by": {"id": 7}, "updated_by": 7, "result": build_result(YES, FORM), "lead_time": 2},
            {"id": 2, "completed_by": 8, "updated_by": 8, "result": build_result(YES, FORM)},
        ],
    }
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task]))
    given = [a for t in read_export(path) for a in annotations_of_task(t, {"7": "ann"}, None)]
    done = validate_annotations(ready, "filter", given)
    assert (done.answers, done.new) == (1, 1)
    assert done.rejected[0].why == "the account 8 does not belong to an invited rater"


def test_exports_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_export(tmp_path / "none.json")
    (tmp_path / "cut.json").write_text('[{"annotations": [')
    with pytest.raises(DataError, match="not readable as JSON"):
        read_export(tmp_path / "cut.json")
    (tmp_path / "min.json").write_text('[{"choice": "yes"}]')
    with pytest.raises(DataError, match="no list of tasks with annotations"):
        read_export(tmp_path / "min.json")
