"""Reviewing what events of a template change."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.event_questions import triplet_of
from curation.store.store import Store
from schemas.events.questions import FactQuestion
from schemas.verdicts import Verdict
from tests.support.events import make_event, make_fact_question

TASK = make_task("review_scope")


def item_in(events: Store, scope: str, answer: str = "Alba Rail") -> TaskItem:
    expected = answer if scope == "in" else "Genoa"
    return next(i for i in TASK.items(events) if i.stratum == f"{scope} merger" and i.shown["answer"] == expected)


def test_events_of_one_template_are_reviewed_once(events: Store) -> None:
    role = {"role": "Buyer", "entity": {"text": "Delta Air"}}
    second = make_event("e/second", "Delta Air merged with Echo Air.", roles=[role])
    subject = {"text": "Delta Air"}
    questions = [make_fact_question("Which company runs Echo Air?", "Delta Air", event=second.key),
             make_fact_question("Who owns Delta Air?", "Delta Air", event=second.key, subject=subject)]  # fmt: skip
    before = list(TASK.items(events))
    events.put([second, *questions])
    after = list(TASK.items(events))
    assert len(after) == len(before) + 1, "the owner of a Buyer is another triplet, the other question is not"
    assert len(item_in(events, "in").related) == 2
    assert next(i for i in after if i.shown.get("role") == "Buyer").related == (questions[1].id,)


def test_an_unknown_answer_is_a_triplet_of_its_own() -> None:
    event = make_event()
    question, unknown = make_fact_question(), make_fact_question("Who leads it?", "unknown")
    assert triplet_of(event, question) != triplet_of(event, unknown)
    assert triplet_of(event, question)[:3] == ("merger", "", "P127")


@pytest.mark.parametrize(
    ("scope", "change", "right", "label"),
    [
        ("in", "certain", "yes", "keep"),
        ("in", "none", "yes", "drop"),
        ("in", "possible", "yes", "unsure"),
        ("in", "certain", "no", "drop"),
        ("out", "none", "yes", "keep"),
        ("out", "certain", "yes", "drop"),
        ("out", "possible", "no", "drop"),
    ],
)
def test_what_people_say_is_held_against_the_template(
    events: Store, scope: str, change: str, right: str, label: str
) -> None:
    answers: dict[str, Any] = {"change": change, "right": right, "comment": "looked up"}
    records = TASK.records(item_in(events, scope), answers, person="ann")
    assert [v.label for v in records if isinstance(v, Verdict) and v.check == "review_scope"] == [label]


def test_every_question_of_the_triplet_gets_the_verdict_and_more_relations_stand_in_the_reason(events: Store) -> None:
    item = item_in(events, "in").model_copy(update={"related": ("a" * 20, "b" * 20)})
    answers = {"change": "certain", "right": "yes", "missing": " its chair \n\n its seat"}
    records = [v for v in TASK.records(item, answers, person="ann") if isinstance(v, Verdict)]
    assert [v.item_id for v in records if v.label == "keep"] == ["a" * 20, "b" * 20]
    assert {v.reason for v in records if v.label == "keep"} == {"also changes: its chair; its seat"}
    assert TASK.judged(item) == item.related


def test_a_wrong_answer_needs_a_comment(events: Store) -> None:
    assert TASK.form.faults({"change": "certain", "right": "no"}) == ["'right' is no without a comment that says why"]


def test_nobody_is_told_the_scope(events: Store) -> None:
    assert isinstance(next(iter(events.all(FactQuestion))), FactQuestion)
    for item in TASK.items(events):
        assert not {"scope", "in", "out"} & set(item.shown)
