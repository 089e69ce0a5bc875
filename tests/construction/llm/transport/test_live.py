"""One call at a time over the wire: faults are values, secrets are masked, dripping bytes have an end."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.llm.call_errors import CallError, asked_wait, error_of_status
from construction.llm.reply_cache import StoredOutcome
from construction.llm.transport.live import Bucket, LiveTransport, Throttle, mask_outcome
from construction.llm.transport.secrets import Mask
from schemas.core.errors import ModelError
from tests.support.construction.asked_numbers import request
from tests.support.scripted_server import Raw, ScriptedServer, completion

KEY = "sk-secret-for-tests"
BODY = {"model": "m", "messages": [{"role": "user", "content": "x" * 400}]}


class Counted(Throttle):
    """A throttle that notes what it is told."""

    def __init__(self, **options):
        super().__init__(4, **options)
        self.told = []

    async def may_send(self, tokens):
        self.told.append(("may send", tokens))

    def used(self, expected, tokens):
        self.told.append(("used", expected, tokens))

    def limited(self, wait):
        self.told.append(("limited", wait))


def send(url, *, body=BODY, timeout=5.0, throttle=None):
    async def main():
        async with openai.AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0, timeout=30.0) as client:
            wire = LiveTransport(client, throttle=throttle or Counted(), mask=Mask([KEY]), timeout=timeout)
            outcome = await wire.send("llm/1", body)
            return wire, outcome

    return asyncio.run(main())


def test_a_reply_is_an_outcome_and_the_tokens_are_corrected():
    throttle = Counted()
    with ScriptedServer(lambda p: "yes") as server:
        wire, outcome = send(server.url, throttle=throttle)
    assert (outcome.raw, outcome.tokens_in, outcome.tokens_out) == ("yes", 11, 7) and wire.calls == 1
    assert throttle.told == [("may send", 300.0), ("used", 300.0, 18)]
    assert wire.repeats and not wire.waiting("llm/1")


def test_a_slow_reply_is_what_its_calls_wait_for(monkeypatch):
    monkeypatch.setattr("construction.llm.transport.live.SLOW", 0.1)

    async def main(url):
        async with openai.AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0, timeout=30.0) as client:
            wire = LiveTransport(client, throttle=Throttle(4), mask=Mask([KEY]), timeout=5.0)
            calls = [asyncio.create_task(wire.send(key, BODY)) for key in ("a", "b")]
            await asyncio.sleep(0.3)
            waiting = wire.held_up()
            await asyncio.gather(*calls)
            return waiting, wire.held_up()

    with ScriptedServer(lambda p: "yes", delay=0.6) as server:
        waiting, after = asyncio.run(main(server.url))
    assert waiting.startswith("has 2 replies to send, the oldest call since") and after == ""


def test_a_limit_below_the_usual_reply_is_what_is_expected():
    throttle = Counted()
    with ScriptedServer(lambda p: "yes") as server:
        send(server.url, throttle=throttle, body={**BODY, "max_completion_tokens": 5})
    assert throttle.told[0] == ("may send", 105.0)


def test_an_endpoint_that_counts_nothing_is_taken_at_its_estimate():
    throttle, body = Counted(), completion("yes")
    body.pop("usage")
    with ScriptedServer(lambda p: Raw(body=body)) as server:
        _, outcome = send(server.url, throttle=throttle)
    assert outcome.tokens_in is None and throttle.told[-1] == ("used", 300.0, 300.0)


FAULTS = {
    "429": (Raw(429, {"error": {"message": "slow"}}, {"Retry-After": "2"}), "transient", 2.0, False),
    "a page": (Raw(502, b"<html>"), "transient", None, False),
    "no completion": (Raw(200, b"{}"), "transient", None, True),
    "a bad request": (Raw(400, {"error": {"message": "too long"}}), "permanent", None, False),
    "a wrong key": (Raw(401, {"error": {"message": f"bad key {KEY}"}}), "fatal", None, False),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_values_without_the_key(name):
    answer, kind, wait, loss = FAULTS[name]
    throttle = Counted()
    with ScriptedServer(lambda p: answer) as server:
        wire, outcome = send(server.url, throttle=throttle)
    assert isinstance(outcome, CallError) and (outcome.kind, outcome.wait, outcome.lost) == (kind, wait, loss)
    assert KEY not in outcome.message and wire.calls == 1
    assert (("limited", wait) in throttle.told) == (name == "429")
    tokens = throttle.told[1][2]
    assert tokens == (300.0 if loss else 0), "what may have been charged counts"


def test_a_reply_that_never_comes_is_given_up_in_time_and_may_be_charged():
    start = time.monotonic()
    with ScriptedServer(lambda p: Raw(body=completion("late"), delay=1.5)) as server:
        _, outcome = send(server.url, timeout=0.2)
        assert time.monotonic() - start < 1.2
    assert isinstance(outcome, CallError) and (outcome.kind, outcome.lost) == ("transient", True)
    assert "time limit" in outcome.message


def test_nobody_there_was_never_charged():
    _, outcome = send("http://127.0.0.1:9/v1")
    assert isinstance(outcome, CallError) and (outcome.kind, outcome.lost, outcome.status) == ("transient", False, None)


def test_secrets_are_taken_out_of_every_text_and_nothing_else_changes():
    mask = Mask([KEY])
    plain = StoredOutcome(kind="reply", raw="x", at="t")
    assert mask_outcome(plain, mask) is plain
    outcome = StoredOutcome(kind="reply", raw=f"a {KEY}", message=KEY, finish=KEY, served=KEY, at="t", tokens_in=3)
    clean = mask_outcome(outcome, mask)
    assert KEY not in clean.model_dump_json() and (clean.raw, clean.tokens_in) == ("a ***", 3)
    assert mask_outcome(CallError("fatal", f"no {KEY}", status=401), mask) == CallError("fatal", "no ***", status=401)


# Token buckets and shared pauses.
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
