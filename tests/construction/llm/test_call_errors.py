"""Faults of an endpoint: which pass, which stay, which stop."""

from __future__ import annotations

import time

import pytest

from construction.llm.call_errors import pause
from curation.files.journal import Journal
from schemas.core.errors import ModelError
from tests.support.construction.asked_numbers import KEY, Number, request, turns
from tests.support.scripted_server import Raw, ScriptedServer

TRANSIENT = {
    "429": Raw(429, {"error": {"message": "slow down"}}),
    "429 with Retry-After": Raw(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.2"}),
    "500": Raw(500, {"error": {"message": "oops"}}),
    "not JSON": Raw(200, b"<html>gateway</html>"),
    "no choices": Raw(200, {"object": "chat.completion", "choices": []}),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_transient_faults_are_asked_again_and_not_journaled(ask, name):
    start = time.monotonic()
    with ScriptedServer(turns(TRANSIENT[name], '{"n": 2}')) as server:
        (reply,) = ask(server.url, request())
    assert (reply.status, reply.value, len(server.requests)) == ("ok", Number(n=2), 2)
    assert [k[:4] for k, _ in Journal(ask.journal).items()] == ["llm/", "form"]
    if "Retry-After" in name:
        assert time.monotonic() - start >= 0.2


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "TEST_KEY"), (403, "TEST_KEY"), (404, "--base-url"), (429, "finished work is kept")],
)
def test_fatal_faults_stop_in_one_sentence_without_the_key(ask, status, words):
    body = {"error": {"message": f"Incorrect {KEY}", "code": "insufficient_quota" if status == 429 else "x"}}
    with ScriptedServer(lambda p: Raw(status, body)) as server, pytest.raises(ModelError) as error:
        ask(server.url, request())
    assert len(server.requests) == 1
    text = str(error.value)
    assert words in text and server.url in text and "\n" not in text and KEY not in text


def test_pause_doubles_and_obeys():
    import random

    rng = random.Random(0)
    assert [0.5 * 2**n <= pause(n, retry_after=None, base=1.0, jitter=rng) <= 2**n for n in range(4)] == [True] * 4
    assert 300 <= pause(0, retry_after=300, base=1.0, jitter=rng) < 301
