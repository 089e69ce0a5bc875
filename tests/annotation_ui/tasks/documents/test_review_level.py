"""Reviewing levels: approve, or another level and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.probes import ReviewLevel
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.documents.document import DocumentProbe
from schemas.verdicts import Verdict
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import document_store, make_probe

TASK = ReviewLevel()
NO = {"approved": "no", "comment": "it is a synonym"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from document_store(tmp_path)


def item_at(store: Store, level: int) -> TaskItem:
    return next(item for item in TASK.items(store) if item.stratum == f"level {level}")


def test_the_level_is_shown_and_what_people_dropped_is_not(store: Store) -> None:
    assert item_at(store, 2).shown["level"] == "2 (paraphrase)"
    before = len(list(TASK.items(store)))
    store.put([make_verdict(make_probe().id, "drop", "person:ann/curate_probe@2")])
    assert len(list(TASK.items(store))) == before - 1
    store.put([make_probe("Who?", level=None)])
    assert len(list(TASK.items(store))) == before - 1, "without a level there is nothing to review"


@pytest.mark.parametrize(
    ("answers", "label", "reason", "values"),
    [
        ({"approved": "yes"}, "keep", "", (1.0, 1.0)),
        ({"approved": "yes", "level": 1}, "keep", "", (1.0, 1.0)),
        ({**NO, "level": 2}, "unsure", "level 2, not 1; it is a synonym", (0.0, 2.0)),
    ],
)
def test_approved_or_another_level(
    store: Store, answers: dict[str, Any], label: str, reason: str, values: tuple[float, float]
) -> None:
    verdict, approved, level = TASK.records(item_at(store, 1), answers, person="bo")
    assert isinstance(verdict, Verdict) and isinstance(approved, Verdict) and isinstance(level, Verdict)
    assert (verdict.label, verdict.reason, approved.value, level.value) == (label, reason, *values)


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ({}, "'approved' has no answer"),
        (NO, "'approved' is no without another 'level'"),
        ({"approved": "no", "level": 2}, "without a comment"),
        ({**NO, "level": 1}, "'level' is the 1 that is shown"),
        ({"approved": "yes", "level": 3}, "'approved' is yes, and 'level' is 3, not 1"),
    ],
)
def test_what_cannot_be_kept_is_refused(store: Store, answers: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError) as error:
        TASK.records(item_at(store, 1), answers, person="bo")
    assert fault in str(error.value)


def test_a_new_level_is_a_new_version_and_takes_the_tags_away(store: Store) -> None:
    item = item_at(store, 3)
    probe, verdict = TASK.corrections(store, item, {"bo": {**NO, "level": 2}})
    assert isinstance(probe, DocumentProbe) and (probe.level, probe.tags) == (2, ())
    assert isinstance(verdict, Verdict) and (verdict.item_id, verdict.label) == (probe.id, "keep")
    assert TASK.corrections(store, item, {"bo": {**NO, "level": 2}, "cem": {"approved": "yes"}}) == []
    assert TASK.corrections(store, item, {"bo": {"approved": "yes"}}) == []
