"""Curating probes: what is shown and refused, what answers say, and which corrections are made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.probes import CurateProbe
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.documents.document import DocumentProbe
from schemas.verdicts import Verdict
from tests.support.documents.records import document_store

TASK = CurateProbe()
YES = {"usable": "yes", "right": "yes"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from document_store(tmp_path)


def item_at(store: Store, level: int) -> TaskItem:
    return next(
        item for item in TASK.items(store) if item.stratum == f"level {level}" and "Bridge" in item.shown["document"]
    )


def test_the_level_is_not_shown_and_the_tags_are(store: Store) -> None:
    item = item_at(store, 3)
    assert item.shown["tags"] == "reverse" and not {"level"} & set(item.shown)
    assert {text.name for text in TASK.form.shows} >= set(item.shown)


@pytest.mark.parametrize(
    ("level", "answers", "label", "reason"),
    [
        (1, {**YES, "level": 1}, "keep", ""),
        (3, {**YES, "level": 3, "tags": ["reverse"]}, "keep", ""),
        (1, {**YES, "level": 2, "comment": "opened"}, "unsure", "corrected: level 2, not 1; opened"),
        (3, {**YES, "level": 3, "tags": ["place", "time"]}, "unsure", "corrected: tags: time, place"),
        (3, {**YES, "level": 2}, "unsure", "corrected: level 2, not 3; tags: none"),
        (
            1,
            {"usable": "yes", "right": "no", "level": 1, "answer": "1932", "reasons": ["wrong_answer"]},
            "unsure",
            "corrected: answer: 1932",
        ),
        (1, {"usable": "yes", "right": "no", "level": 1, "reasons": ["wrong_answer"]}, "drop", "wrong_answer"),
        (
            1,
            {"usable": "no", "right": "yes", "level": 3, "reasons": ["needs_context", "other"], "comment": "?"},
            "drop",
            "needs_context, other; ?",
        ),
    ],
)
def test_keep_drop_and_what_is_to_be_corrected(
    store: Store, level: int, answers: dict[str, Any], label: str, reason: str
) -> None:
    verdict, usable, right, placed, tags = TASK.records(item_at(store, level), answers, person="ann")
    assert isinstance(verdict, Verdict) and isinstance(tags, Verdict)
    assert (verdict.label, verdict.reason, verdict.by) == (label, reason, "person:ann/curate_probe@2")
    values = [v.value for v in (usable, right, placed, tags) if isinstance(v, Verdict)]
    yes = [float(answers[n] == "yes") for n in ("usable", "right")]
    assert values == [*yes, answers["level"], len(answers.get("tags", []))]
    assert tags.reason == ", ".join(sorted(answers.get("tags", [])))


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ({**YES}, "'level' has no answer"),
        ({**YES, "level": 4}, "'level' is 4; allowed: 1 to 3"),
        ({**YES, "level": 3}, "'tags' has no answer, and level 3 needs one"),
        ({**YES, "level": 2, "tags": ["time"]}, "'tags' belong to level 3, and 'level' is 2"),
        ({**YES, "level": 3, "tags": ["colour"]}, "'tags' names 'colour'"),
        ({**YES, "level": 1, "answer": "1932"}, "'right' is yes"),
        ({"usable": "yes", "right": "no", "level": 1, "answer": "1931", "reasons": ["wrong_answer"]}, "that is shown"),
        ({"usable": "no", "right": "yes", "level": 1}, "'usable' is no without a reason"),
        ({"usable": "no", "right": "yes", "level": 1, "reasons": ["other"]}, "needs a comment"),
    ],
)
def test_what_cannot_be_kept_is_refused(store: Store, answers: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError) as error:
        TASK.records(item_at(store, 1), answers, person="ann")
    assert fault in str(error.value)


def test_an_unusable_probe_of_level_3_needs_no_tags(store: Store) -> None:
    answers = {"usable": "no", "right": "yes", "level": 3, "reasons": ["irrelevant"]}
    assert TASK.faults(item_at(store, 1), answers) == []


def test_a_correction_is_made_where_all_say_the_same(store: Store) -> None:
    item, change = item_at(store, 1), {**YES, "level": 2}
    answers: dict[str, dict[str, Any]] = {"ann": change, "bo": {**change, "comment": "x"}}
    probe, *verdicts = TASK.corrections(store, item, answers)
    assert isinstance(probe, DocumentProbe) and probe.level == 2 and probe.id != item.id
    assert {(v.item_id, v.label, v.by) for v in verdicts if isinstance(v, Verdict)} == {
        (probe.id, "keep", f"person:{who}/curate_probe@2") for who in ("ann", "bo")
    }


@pytest.mark.parametrize(
    "other",
    [
        {**YES, "level": 1},
        {**YES, "level": 3, "tags": ["time"]},
        {"usable": "no", "right": "yes", "level": 2, "reasons": ["repeats"]},
    ],
)
def test_nothing_is_corrected_where_people_differ(store: Store, other: dict[str, Any]) -> None:
    assert TASK.corrections(store, item_at(store, 1), {"ann": {**YES, "level": 2}, "bo": other}) == []


def test_nothing_is_corrected_where_nothing_differs_or_it_is_dropped(store: Store) -> None:
    item = item_at(store, 1)
    drop = {"usable": "no", "right": "yes", "level": 2, "reasons": ["repeats"]}
    assert TASK.corrections(store, item, {"ann": {**YES, "level": 1}}) == []
    assert TASK.corrections(store, item, {"ann": drop}) == []


def test_another_answer_is_no_longer_an_accepted_one(store: Store) -> None:
    item = next(i for i in TASK.items(store) if i.shown.get("accepted") == "Brun")
    answers = {"usable": "yes", "right": "no", "level": 2, "answer": "Brun", "reasons": ["wrong_answer"]}
    probe, _ = TASK.corrections(store, item, {"ann": answers})
    assert isinstance(probe, DocumentProbe) and (probe.answer, probe.accepted) == ("Brun", ())
