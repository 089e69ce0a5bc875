"""Times as they are stored: each place keeps its own precision and spelling of UTC, from one function."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from schemas.core.clock import now, today


@pytest.mark.parametrize(
    ("choice", "form"),
    [
        ({}, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"),
        ({"precision": "minutes"}, r"\d{4}-\d\d-\d\dT\d\d:\d\d\+00:00"),
        ({"precision": "milliseconds"}, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00"),
        ({"zone": "Z"}, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    ],
)
def test_forms(choice: dict[str, Any], form: str) -> None:
    assert re.fullmatch(form, now(**choice))


def test_it_is_the_present_in_utc() -> None:
    before = datetime.now(UTC)
    moment = datetime.fromisoformat(now("milliseconds"))
    assert before - timedelta(milliseconds=1) <= moment <= datetime.now(UTC)
    later = datetime.fromisoformat(now("milliseconds", plus=timedelta(hours=12)))
    assert timedelta(hours=12) <= later - moment < timedelta(hours=12, minutes=1)
    assert today() in {before.date().isoformat(), datetime.now(UTC).date().isoformat()}
