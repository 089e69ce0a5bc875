from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.events.event import EventRole
from schemas.facts import Entity
from tests.support.events import make_event


def test_an_event_is_its_text() -> None:
    event = make_event(roles=(EventRole(role="A", entity=Entity(text="Alba Rail", aliases=("AR",))),))
    assert event.statement == event.text and event.names == ("Alba Rail", "AR")
    assert make_event().names == ()


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_event_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="empty|white space"):
        make_event(text=text)
