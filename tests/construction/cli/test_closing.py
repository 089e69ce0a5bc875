"""What is said before and after a construction."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from construction.cli.closing import resumable, show_counts, show_estimate
from construction.events.funnel import EventCounts, EventTally
from construction.llm.cost.estimates import CallEstimate
from construction.llm.session import StoppedEarly
from schemas.core.errors import UserError


def test_a_stop_ends_with_the_next_step_and_the_status_of_the_signal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, resumable():
        raise StoppedEarly(signal.SIGTERM, "3 calls", batch=True)
    assert ended.value.code == 128 + signal.SIGTERM
    said = capsys.readouterr().err
    assert said.startswith("Stopped: 3 calls, finished work is kept") and "open batches go on" in said


def test_another_error_goes_through() -> None:
    with pytest.raises(UserError, match="no key"), resumable():
        raise UserError("no key")


def test_an_estimate_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    expected = CallEstimate(calls=2, tokens_in=100, tokens_out=20, cost=None)
    show_estimate({"events": 1}, "1 event", expected, as_json=False)
    assert capsys.readouterr().out.startswith("1 event; 2 calls, about 100 tokens in and 20 out.")
    show_estimate({"events": 1}, "1 event", expected, as_json=True)
    assert json.loads(capsys.readouterr().out)["events"] == 1


def test_counts_with_open_calls_are_shown_and_then_refused(capsys: pytest.CaptureFixture[str]) -> None:
    tally = EventTally()
    tally.n["unfinished"] = 2
    counts = tally.result(EventCounts, calls=1, quality="plumbing")
    with pytest.raises(UserError, match="2 calls without an answer so far"):
        show_counts(counts, Path("my.duckdb"), as_json=False)
    shown = capsys.readouterr().out
    assert "scedit split freeze NAME --store my.duckdb" in shown and "shows that the pipeline runs" in shown
    with pytest.raises(UserError):
        show_counts(counts, Path("my.duckdb"), as_json=True)
    assert json.loads(capsys.readouterr().out)["unfinished"] == 2
