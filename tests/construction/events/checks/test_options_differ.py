from __future__ import annotations

import pytest

from construction.events.checks.base import EventInputs
from construction.events.checks.options_differ import OptionsDiffer
from tests.support.events import make_event, make_tendency


@pytest.mark.parametrize(
    ("options", "label"),
    [
        (("They rise", "They fall", "They stay"), "keep"),
        (("They rise", "they  RISE!", "They stay"), "drop"),
        (("They rise", "They fall", "None of the above"), "drop"),
        (("They rise", "They fall", "Both A and B"), "drop"),
        (("They rise", "All of these", "They stay"), "drop"),
        (("All trains run", "Both lines close", "None stop here"), "keep"),
        (("They rise", "They fall", "How may fares change?"), "drop"),
    ],
)
def test_options(options: tuple[str, ...], label: str) -> None:
    question = make_tendency("How may fares change?", options=options)
    verdict = OptionsDiffer().judge_one(EventInputs(event=make_event(), question=question))
    assert verdict.label == label and bool(verdict.reason) == (label == "drop")
