"""What the tasks about events read out of a store."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.event_questions import bare_words, standing_events, triplet_of
from curation.store.store import Store
from schemas.events.questions import FactQuestion
from schemas.lineage import Lineage
from schemas.verdicts import Verdict
from tests.support.curation.verdicts import make_verdict
from tests.support.events import MERGER, MOVE, make_event, make_fact_question


def test_events_that_a_check_drops_are_left_out_and_those_that_people_drop_are_not(events: Store) -> None:
    assert [e.key for e in standing_events(events)] == [MERGER, MOVE]
    events.put([make_verdict(make_event().id, "drop", "person:ann/review_paraphrase@2")])
    assert [e.key for e in standing_events(events)] == [MERGER, MOVE]
    events.put([make_verdict(make_event().id, "drop", "repeats_event@1")])
    assert [e.key for e in standing_events(events)] == [MOVE]


@pytest.mark.parametrize(
    ("name", "count"), [("answer_tendency", 2), ("judge_tendency", 2), ("review_scope", 4), ("review_paraphrase", 1)]
)
def test_every_task_shows_what_its_form_shows_and_no_more(name: str, count: int, events: Store) -> None:
    event = make_event("e/template", "Delta Air has merged with Echo Air.", template="merger")
    events.put([event, make_fact_question(event=event.key)])
    task = make_task(name)
    items = list(task.items(events))
    assert items == list(task.items(events)) and len(items) == count
    for item in items:
        needed = {s.name for s in task.form.shows if not s.optional}
        assert needed <= set(item.shown) <= {s.name for s in task.form.shows}
        good = {f.name: f.allowed[0] for f in task.form.asked_fields()}
        records = task.records(item, good, person="ann")
        assert {r.item_id for r in records} <= set(task.judged(item))  # type: ignore[attr-defined]
        assert len({r.key for r in records}) == len(records)


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


TASK_REVIEW_PARAPHRASE = make_task("review_paraphrase")


def put_template_event(store: Store, bare: str) -> str:
    event = make_event("e/template", "In a surprise, Alba Rail has merged with Brenta Rail.", template="merger")
    line = Lineage(item_id=event.id, stage="paraphrase", made_at="2026-11-23", detail={"template_text": bare})
    store.put([event, make_fact_question(event=event.key)], [line])
    return event.id


def test_only_events_of_templates_are_reviewed_beside_their_bare_words_and_answers(events: Store) -> None:
    assert list(TASK_REVIEW_PARAPHRASE.items(events)) == []
    event = put_template_event(events, "Alba Rail merged with Brenta Rail.")
    (item,) = TASK_REVIEW_PARAPHRASE.items(events)
    assert item.id == event and item.case == "e/template"
    assert item.shown["bare"] == "Alba Rail merged with Brenta Rail."
    assert item.shown["answers"] == "1. Which company runs Brenta Rail? → Alba Rail"


def test_bare_words_that_are_the_event_s_own_are_not_shown_twice() -> None:
    event = make_event()
    line = Lineage(item_id=event.id, stage="template", made_at="x", detail={"template_text": event.text})
    assert bare_words(event, [line]) == "" == bare_words(event, [])


def test_a_no_drops_the_event_with_its_reason(events: Store) -> None:
    put_template_event(events, "Alba Rail merged with Brenta Rail in May.")
    (item,) = TASK_REVIEW_PARAPHRASE.items(events)
    answers = {"complete": "no", "nothing_added": "yes", "readable": "yes", "reasons": ["lost"]}
    verdict = TASK_REVIEW_PARAPHRASE.records(item, answers, person="ann")[0]
    assert isinstance(verdict, Verdict)
    assert (verdict.label, verdict.reason) == ("drop", "complete, lost")
