"""What the tasks about documents read out of a store, and new versions of what they judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.probes import CurateProbe, ReviewLevel, level_of, new_version, probe_items
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.documents.document import DocumentProbe
from schemas.verdicts import Verdict
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import BRIDGE, TRAM, document_store, make_document, make_probe


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from document_store(tmp_path)


def test_a_probe_stands_with_its_document_and_the_other_probes(store: Store) -> None:
    items = {probe.query: item for item, probe in probe_items(store)}
    assert len(items) == 5
    item = items["Who is the author of the Orla Bridge's plans?"]
    assert item.case == BRIDGE and item.stratum == "level 2" and level_of(item) == 2
    assert item.shown["document"] == make_document().text and item.shown["accepted"] == "Brun"
    assert len(item.shown["siblings"].splitlines()) == 3 and item.shown["query"] not in item.shown["siblings"]
    assert item.related[0] == make_document().id and len(item.related) == 4
    alone = items["Line 9 runs to ___."]
    assert alone.case == TRAM and "siblings" not in alone.shown and "accepted" not in alone.shown


def test_checks_take_probes_and_documents_out_people_only_where_asked(store: Store) -> None:
    first = make_probe()
    store.put([make_verdict(first.id, "drop", "person:ann/curate_probe@2")])
    assert len(list(probe_items(store))) == 5 and len(list(probe_items(store, people_too=True))) == 4
    store.put([make_verdict(first.id, "drop", "one_blank@1")])
    items = [item for item, _ in probe_items(store)]
    assert len(items) == 4 and not any(first.query in item.shown.get("siblings", "") for item in items)
    store.put([make_verdict(make_document().id, "drop", "repeats_document@1")])
    assert [item.case for item, _ in probe_items(store)] == [TRAM]


def test_a_new_version_is_made_of_the_current_one_only(store: Store) -> None:
    item = next(item for item, probe in probe_items(store) if probe.id == make_probe().id)
    assert new_version(store, item, {}) is None and new_version(store, item, {"level": 1}) is None
    second = new_version(store, item, {"level": 2})
    assert second is not None and (second.key, second.level) == (make_probe().key, 2)
    store.put([second])
    assert new_version(store, item, {"level": 3}) is None, "somebody corrected it already"


TASK = ReviewLevel()
NO = {"approved": "no", "comment": "it is a synonym"}


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


TASK_CURATE_PROBE = CurateProbe()
YES = {"usable": "yes", "right": "yes"}


def item_at_curate_probe(store: Store, level: int) -> TaskItem:
    return next(
        item
        for item in TASK_CURATE_PROBE.items(store)
        if item.stratum == f"level {level}" and "Bridge" in item.shown["document"]
    )


def test_the_level_is_not_shown_and_the_tags_are(store: Store) -> None:
    item = item_at_curate_probe(store, 3)
    assert item.shown["tags"] == "reverse" and not {"level"} & set(item.shown)
    assert {text.name for text in TASK_CURATE_PROBE.form.shows} >= set(item.shown)


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
    verdict, usable, right, placed, tags = TASK_CURATE_PROBE.records(
        item_at_curate_probe(store, level), answers, person="ann"
    )
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
def test_what_cannot_be_kept_is_refused_curate_probe(store: Store, answers: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError) as error:
        TASK_CURATE_PROBE.records(item_at_curate_probe(store, 1), answers, person="ann")
    assert fault in str(error.value)


def test_an_unusable_probe_of_level_3_needs_no_tags(store: Store) -> None:
    answers = {"usable": "no", "right": "yes", "level": 3, "reasons": ["irrelevant"]}
    assert TASK_CURATE_PROBE.faults(item_at_curate_probe(store, 1), answers) == []


def test_a_correction_is_made_where_all_say_the_same(store: Store) -> None:
    item, change = item_at_curate_probe(store, 1), {**YES, "level": 2}
    answers: dict[str, dict[str, Any]] = {"ann": change, "bo": {**change, "comment": "x"}}
    probe, *verdicts = TASK_CURATE_PROBE.corrections(store, item, answers)
    assert isinstance(probe, DocumentProbe) and probe.level == 2 and probe.id != item.id
    assert {(v.item_id, v.label, v.by) for v in verdicts if isinstance(v, Verdict)} == {
        (probe.id, "keep", f"person:{who}/curate_probe@2") for who in ("ann", "bo")
    }


def test_nothing_is_corrected_where_nothing_differs_or_it_is_dropped(store: Store) -> None:
    item = item_at_curate_probe(store, 1)
    drop = {"usable": "no", "right": "yes", "level": 2, "reasons": ["repeats"]}
    assert TASK_CURATE_PROBE.corrections(store, item, {"ann": {**YES, "level": 1}}) == []
    assert TASK_CURATE_PROBE.corrections(store, item, {"ann": drop}) == []


def test_another_answer_is_no_longer_an_accepted_one(store: Store) -> None:
    item = next(i for i in TASK_CURATE_PROBE.items(store) if i.shown.get("accepted") == "Brun")
    answers = {"usable": "yes", "right": "no", "level": 2, "answer": "Brun", "reasons": ["wrong_answer"]}
    probe, _ = TASK_CURATE_PROBE.corrections(store, item, {"ann": answers})
    assert isinstance(probe, DocumentProbe) and (probe.answer, probe.accepted) == ("Brun", ())
