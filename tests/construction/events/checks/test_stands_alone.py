from __future__ import annotations

import pytest

from construction.events.checks.base import EventInputs
from construction.events.checks.stands_alone import StandsAlone
from tests.support.events import make_event, make_tendency


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("How may fares in Genoa change?", ""),
        ("How may this event change fares?", "this event"),
        ("How may fares change after these new laws?", "these new laws"),
        ("What may follow from these recent reforms?", "these recent reforms"),
        ("How may tourism in the region change?", "the region"),
        ("How may tourism in the region of Tuscany change?", ""),
        ("How may the merger of Alba and Brenta be seen?", ""),
        ("How may The Merger be seen?", "The Merger"),
        ("How may the merger of the two firms be seen?", "the merger"),  # none of them is named
        ("How may prices follow this change in ownership?", "this change"),
        ("Will people say that fares are too high?", ""),
        ("How may such a ban be seen?", "such a ban"),
        ("How may the eventual winner feel?", ""),
    ],
)
def test_what_points_at_the_event(text: str, result: str) -> None:
    verdict = StandsAlone().judge_one(EventInputs(event=make_event(), question=make_tendency(text)))
    assert [s.text for s in verdict.spans] == ([result] if result else [])
    assert verdict.label == ("drop" if result else "keep")
    assert all(text[s.start : s.end] == s.text for s in verdict.spans)
