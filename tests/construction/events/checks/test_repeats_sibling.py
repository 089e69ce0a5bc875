from __future__ import annotations

from construction.events.checks.base import EventInputs
from construction.events.checks.repeats_sibling import RepeatsSibling
from tests.support.events import make_event, make_tendency


def test_the_nearest_earlier_question_is_measured_and_nothing_dropped() -> None:
    question = make_tendency("How may fares change?")
    far, near = make_tendency("What grows in Lima?"), make_tendency("How may fares rise?")
    verdict = RepeatsSibling().judge_one(EventInputs(event=make_event(), question=question, earlier=(far, near)))
    assert (verdict.label, verdict.value, verdict.related) == ("keep", 0.75, (near.id,))


def test_a_first_question_and_itself_are_no_siblings() -> None:
    question = make_tendency()
    for earlier in ((), (question,)):
        verdict = RepeatsSibling().judge_one(EventInputs(event=make_event(), question=question, earlier=earlier))
        assert verdict.value == 0.0 and not verdict.related
