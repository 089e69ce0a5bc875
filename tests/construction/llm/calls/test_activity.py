"""The rate of answers: over the last minute, for a slow model over its last few, without what the journal gave."""

from __future__ import annotations

import pytest

from construction.llm.calls.activity import Activity


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_answers_and_failures_are_counted_and_the_journal_s_make_no_rate(clock):
    activity = Activity()
    for failure in (False, True, True):
        clock[0] += 1
        activity.answered(from_endpoint=False, failed=failure)
    assert (activity.answers, activity.failed, activity.rate()) == (3, 2, None)


@pytest.mark.parametrize(("seconds", "expected"), [(0.5, 120.0), (2.0, 30.0), (90.0, 60 / 90)])
def test_the_rate_follows_fast_and_slow_models(clock, seconds, expected):
    activity = Activity()
    for _ in range(200):
        clock[0] += seconds
        activity.answered(from_endpoint=True)
    assert activity.rate() == pytest.approx(expected, rel=0.35)


def test_a_burst_after_a_long_wait_is_no_high_rate(clock):
    """Eight calls at once, all answered after ten seconds: 48 a minute, not thousands."""
    activity = Activity()
    activity.asks()
    clock[0] += 10
    for _ in range(8):
        activity.asks()
        clock[0] += 0.001
        activity.answered(from_endpoint=True)
    assert activity.rate() == pytest.approx(48, rel=0.01)


def test_the_rate_falls_while_nothing_comes(clock):
    activity = Activity()
    for _ in range(10):
        clock[0] += 1
        activity.answered(from_endpoint=True)
    before = activity.rate()
    clock[0] += 300
    assert activity.rate() < before / 10


def test_answers_of_one_moment_have_no_rate_and_a_clock_that_steps_back_breaks_nothing(clock):
    activity = Activity()
    activity.answered(from_endpoint=True)
    assert activity.rate() is None
    activity.answered(from_endpoint=True)
    assert activity.rate() is None
    clock[0] -= 500
    activity.answered(from_endpoint=True)
    assert activity.rate() is None and activity.answers == 3


def test_tokens_a_second_are_those_that_were_written_now(clock):
    activity = Activity()
    activity.answered(from_endpoint=False, tokens=10_000)
    assert activity.speed() is None
    activity.asks()
    for _ in range(6):
        clock[0] += 5
        activity.answered(from_endpoint=True, tokens=60)
    assert activity.speed() == pytest.approx(12)
    clock[0] += 30
    assert activity.speed() == pytest.approx(6), "it falls while nothing comes"


def test_an_endpoint_that_counts_no_tokens_has_no_speed(clock):
    activity = Activity()
    for _ in range(3):
        clock[0] += 5
        activity.answered(from_endpoint=True)
    assert activity.speed() is None
