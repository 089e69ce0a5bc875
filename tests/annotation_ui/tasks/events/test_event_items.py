"""What the tasks about events read out of a store."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.event_questions import facts_of, standing_events, tendencies_of
from curation.store.store import Store
from tests.support.curation.verdicts import make_verdict
from tests.support.events import MERGER, MOVE, make_event, make_fact_question


def test_events_that_a_check_drops_are_left_out_and_those_that_people_drop_are_not(events: Store) -> None:
    assert [e.key for e in standing_events(events)] == [MERGER, MOVE]
    events.put([make_verdict(make_event().id, "drop", "person:ann/review_paraphrase@2")])
    assert [e.key for e in standing_events(events)] == [MERGER, MOVE]
    events.put([make_verdict(make_event().id, "drop", "repeats_event@1")])
    assert [e.key for e in standing_events(events)] == [MOVE]


def test_questions_of_an_event_and_no_other(events: Store) -> None:
    merger, move = standing_events(events)
    assert [len(facts_of(events, e)) for e in (merger, move)] == [3, 1]
    assert [len(tendencies_of(events, e)) for e in (merger, move)] == [2, 0]


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
