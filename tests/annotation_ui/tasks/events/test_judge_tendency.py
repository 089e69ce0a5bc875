"""Judging tendency questions: what is shown, what is refused, what an answer says."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.base import TaskItem
from curation.rules.rule import EventRule
from curation.rules.selection import SelectionStream
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.verdicts import Verdict

TASK = make_task("judge_tendency")


def first(events: Store) -> TaskItem:
    return next(i for i in TASK.items(events) if "ticket" in i.shown["question"])


def test_the_proposed_answer_stands_with_its_text_and_the_siblings_are_all_others(events: Store) -> None:
    item = first(events)
    assert item.shown["proposed"] == "(A) They rise"
    assert item.shown["siblings"] == "1. How may rainfall in Genoa change?"
    assert item.case == "e/merger" and len(item.related) == 2 and item.stratum == "in merger"


@pytest.mark.parametrize(
    ("answers", "label", "number", "reason"),
    [
        ({"label": "right"}, "keep", 1.0, ""),
        ({"label": "wrong"}, "drop", 0.0, "the proposed answer is wrong"),
        ({"label": "wrong", "comment": "they fall"}, "drop", 0.0, "they fall"),
        ({"label": "wrong", "reasons": ["wording"]}, "drop", 0.0, "wording"),
        ({"label": "unsure", "reasons": ["repeats", "other"], "comment": "2"}, "unsure", 2.0, "repeats, other; 2"),
    ],
)  # fmt: skip
def test_right_keeps_wrong_drops_and_unsure_says_why(
    events: Store, answers: dict[str, Any], label: str, number: float, reason: str
) -> None:
    verdict, record = TASK.records(first(events), answers, person="ann")
    assert isinstance(verdict, Verdict) and isinstance(record, Verdict)
    assert (verdict.label, verdict.reason, verdict.by) == (label, reason, "person:ann/judge_tendency@2")
    assert (record.label, record.value, record.unit) == (None, number, "label")


def test_an_impossible_event_leaves_its_other_questions_unsure(events: Store) -> None:
    """One vote a person is the most severe of theirs, so a sibling that the same person keeps is held."""
    item = first(events)
    answers = {"label": "unsure", "reasons": ["impossible_event"]}
    _, _, sibling = TASK.records(item, answers, person="ann")
    assert isinstance(sibling, Verdict)
    assert (sibling.item_id, sibling.label, sibling.reason) == (item.related[1], "unsure", "impossible_event")
    other = next(i for i in TASK.items(events) if i.id == sibling.item_id)
    events.put([*TASK.records(item, answers, person="ann"), *TASK.records(other, {"label": "right"}, person="ann")])
    events.put(TASK.records(other, {"label": "right"}, person="bo"))
    kept = [q.key for case in SelectionStream(events, EventRule()) for q in case.tendencies]
    assert kept == []


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ({"label": "unsure"}, "'label' is unsure without a reason in 'reasons'"),
        ({"label": "unsure", "reasons": ["other"]}, "the reason 'other' needs a comment"),
        ({"label": 2}, "'label' is 2; allowed: right, wrong, unsure"),
        ({"label": ["right"]}, "allowed: right, wrong, unsure"),
        ({}, "'label' has no answer"),
        ({"label": "right", "reasons": ["impossible_event"]}, "'label' is right though the event is impossible"),
        ({"label": "wrong", "reasons": ["wording", "impossible_event"]}, "then the question is unsure"),
    ],
)
def test_what_cannot_be_kept_is_refused(events: Store, answers: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError) as error:
        TASK.records(first(events), answers, person="ann")
    assert fault in str(error.value)


TASK_ANSWER_TENDENCY = make_task("answer_tendency")


def test_nothing_that_is_shown_tells_the_proposed_answer(events: Store) -> None:
    items = list(TASK_ANSWER_TENDENCY.items(events))
    assert len(items) == 2
    for item in items:
        assert set(item.shown) == {"event", "question", "option_a", "option_b", "option_c"}
        assert [item.shown[f"option_{o}"] for o in "abc"] == ["They rise", "They fall", "They stay as they are"]
    assert {TASK_ANSWER_TENDENCY.part(i) for i in items} == {"in scope", "out of scope"}


@pytest.mark.parametrize(("choice", "value"), [("a", 1.0), ("c", 3.0), ("none", 0.0)])
def test_an_answer_is_a_measurement_and_decides_nothing(events: Store, choice: str, value: float) -> None:
    item = next(iter(TASK_ANSWER_TENDENCY.items(events)))
    (records,) = TASK_ANSWER_TENDENCY.records(item, {"own": choice}, person="ann")
    assert isinstance(records, Verdict)
    assert (records.label, records.value, records.unit, records.by) == (
        None,
        value,
        "option",
        "person:ann/answer_tendency_own@2",
    )


def test_it_comes_before_judging() -> None:
    assert make_task("judge_tendency").after == ("answer_tendency",)
    assert TASK_ANSWER_TENDENCY.same_people and make_task("judge_tendency").same_people
