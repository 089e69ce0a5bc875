"""Token buckets and shared pauses."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.llm.call_errors import asked_wait, error_of_status
from construction.llm.transport.live import Bucket, Throttle
from schemas.core.errors import ModelError
from tests.support.construction.asked_numbers import request
from tests.support.scripted_server import Raw, ScriptedServer


@settings(max_examples=60, deadline=None)
@given(
    limit=st.sampled_from([1, 2, 7, 60, 1000]),
    gaps=st.lists(st.floats(0, 20), min_size=1, max_size=200),
)
def test_no_minute_holds_more_than_the_limit(limit, gaps):
    now = [0.0]
    bucket = Bucket(limit, clock=lambda: now[0])
    payload = []
    for gap in gaps:
        now[0] += gap
        payload.append(now[0] + bucket.take(1))
    for start in payload:
        assert sum(start <= t < start + 59.999 for t in payload) <= limit


def test_a_bucket_lets_through_nearly_what_it_may():
    now = [0.0]
    bucket = Bucket(600, clock=lambda: now[0])
    waits = [bucket.take(1) for _ in range(1200)]
    assert waits[59] == 0 and 110 < waits[-1] < 130


def test_what_was_not_used_comes_back_and_large_amounts_wait():
    bucket = Bucket(60, clock=lambda: 0.0)
    assert bucket.take(6) == 0
    bucket.give(6)
    assert bucket.take(6) == 0 and bucket.take(54) == pytest.approx(60)


def test_a_429_pauses_all():
    async def main():
        throttle = Throttle(8)
        throttle.limited(0.15)
        start = time.monotonic()
        await asyncio.gather(throttle.may_send(1), throttle.may_send(1))
        assert time.monotonic() - start >= 0.15 and throttle.pause == 0

    asyncio.run(main())


def test_an_endpoint_that_limits_long_is_waited_for(ask):
    requests = []

    def busy(payload):
        requests.append(1)
        return Raw(429, {"error": {"message": "rate"}}, {"Retry-After": "0.01"}) if len(requests) < 9 else '{"n": 1}'

    with ScriptedServer(busy) as server:
        (reply,) = ask(server.url, request())
    assert reply.status == "ok" and len(requests) == 9  # more than 'tries', because it answers


@pytest.mark.parametrize(
    ("why", "wait", "words"),
    [("rate", "0", "12 tries: HTTP 429: rate"), ("quota of the day", "86400", "asks to wait 1440 minutes")],
)
def test_an_endpoint_that_limits_for_ever_or_asks_for_a_day_stops_the_work(ask, why, wait, words):
    busy = Raw(429, {"error": {"message": why}}, {"Retry-After": wait})
    with ScriptedServer(lambda p: busy) as server, pytest.raises(ModelError, match=words):
        ask(server.url, request())


HEADERS = {
    "seconds": ({"retry-after": "7"}, 7.0),
    "a fraction": ({"retry-after": "0.5"}, 0.5),
    "milliseconds first": ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    "a date long past": ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    "rubbish": ({"retry-after": "soon"}, None),
    "negative": ({"retry-after": "-3"}, None),
    "not a number": ({"retry-after": "nan"}, None),
    "for ever": ({"retry-after": "inf"}, None),
    "limits": ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0.5s"}, 360.5),
    "limits not reached": ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "6m"}, None),
    "limits in an odd form": ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "x120ms"}, None),
    "none": ({}, None),
}


@pytest.mark.parametrize("name", HEADERS)
def test_the_wait_that_headers_ask_for(name):
    headers, seconds = HEADERS[name]
    assert asked_wait(headers) == seconds


def test_a_date_is_a_wait():
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 < (asked_wait({"retry-after": then}) or 0) <= 30


@pytest.mark.parametrize("body", [None, "text", [1], {"error": None}, {"error": {"message": 3}}, {"error": ["x"]}, {}])
def test_odd_error_bodies_are_sorted_too(body):
    assert error_of_status(500, body).kind == "transient" and error_of_status(400, body).kind == "permanent"
