"""Reviewing the wording of events."""

from __future__ import annotations

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.event_questions import bare_words
from curation.store.store import Store
from schemas.lineage import Lineage
from schemas.verdicts import Verdict
from tests.support.events import make_event, make_fact_question

TASK = make_task("review_paraphrase")


def put_template_event(store: Store, bare: str) -> str:
    event = make_event("e/template", "In a surprise, Alba Rail has merged with Brenta Rail.", template="merger")
    line = Lineage(item_id=event.id, stage="paraphrase", made_at="2026-11-23", detail={"template_text": bare})
    store.put([event, make_fact_question(event=event.key)], [line])
    return event.id


def test_only_events_of_templates_are_reviewed_beside_their_bare_words_and_answers(events: Store) -> None:
    assert list(TASK.items(events)) == []
    event = put_template_event(events, "Alba Rail merged with Brenta Rail.")
    (item,) = TASK.items(events)
    assert item.id == event and item.case == "e/template"
    assert item.shown["bare"] == "Alba Rail merged with Brenta Rail."
    assert item.shown["answers"] == "1. Which company runs Brenta Rail? → Alba Rail"


def test_bare_words_that_are_the_event_s_own_are_not_shown_twice() -> None:
    event = make_event()
    line = Lineage(item_id=event.id, stage="template", made_at="x", detail={"template_text": event.text})
    assert bare_words(event, [line]) == "" == bare_words(event, [])


def test_a_no_drops_the_event_with_its_reason(events: Store) -> None:
    put_template_event(events, "Alba Rail merged with Brenta Rail in May.")
    (item,) = TASK.items(events)
    answers = {"complete": "no", "nothing_added": "yes", "readable": "yes", "reasons": ["lost"]}
    verdict = TASK.records(item, answers, person="ann")[0]
    assert isinstance(verdict, Verdict)
    assert (verdict.label, verdict.reason) == ("drop", "complete, lost")
