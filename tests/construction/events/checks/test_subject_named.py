from __future__ import annotations

from typing import Any

import pytest

from construction.events.checks.base import EventInputs
from construction.events.checks.subject_named import SubjectNamed
from schemas.events.event import EventRole
from schemas.facts import Entity
from tests.support.events import make_event, make_tendency

ROLES = (EventRole(role="A", entity=Entity(text="Alba Rail", aliases=("AR",))),)


@pytest.mark.parametrize(
    ("text", "changes", "label"),
    [
        ("How may rain in Lima change?", {"scope": "out"}, "keep"),
        ("How may fares of Alba Rail change?", {"scope": "out"}, "drop"),
        ("How may AR's fares change?", {"scope": "out"}, "drop"),
        ("How may fares of Alba Rail change?", {"about_event_subject": True}, "keep"),
        ("How may fares change?", {"about_event_subject": True}, "unsure"),
        ("How may fares change?", {"about_event_subject": False}, "keep"),
        ("How may fares change?", {}, "keep"),
    ],
)
def test_who_is_named(text: str, changes: dict[str, Any], label: str) -> None:
    inputs = EventInputs(event=make_event(roles=ROLES), question=make_tendency(text, **changes))
    verdict = SubjectNamed().judge_one(inputs)
    assert verdict.label == label and bool(verdict.reason) == (label != "keep")


def test_it_does_not_apply_where_nobody_says_who_the_event_is_about() -> None:
    assert not SubjectNamed().applies(EventInputs(event=make_event(), question=make_tendency()))
