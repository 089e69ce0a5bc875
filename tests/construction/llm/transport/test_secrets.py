"""A canary key, sent back by the endpoint wherever it can: it appears nowhere."""

from __future__ import annotations

import os

import pytest

from construction.llm.transport.secrets import Mask, secrets_of
from tests.support import forked_programs as programs
from tests.support.facts import make_fact
from tests.support.scripted_server import Batches, Raw, ScriptedServer, author, completion

CANARY = "sk-canary-0123456789abcdef"
ENV = {**os.environ, "OPENAI_API_KEY": CANARY, "PYTHONWARNINGS": "ignore"}
ECHO = {"X-Echo": CANARY, "x-request-id": CANARY}


def construct(folder, url, *more):
    facts = folder / "facts.jsonl"
    facts.write_text(
        "".join(make_fact(s, o, "Rome").model_dump_json() + "\n" for s, o in [("Peru", "Lima"), ("Japan", "Tokyo")])
    )
    line = ["-vv", "construct", str(facts), "--store", str(folder / "s.duckdb")]
    return programs.run(programs.CLI, *line, "--no-verify", "--model", "m", "--base-url", url, *more, env=ENV)


def is_nowhere(folder, done):
    assert CANARY not in done.stdout + done.stderr
    for path in folder.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


def echoing(payload):
    """Every kind of reply, with the key in it."""
    text = payload["messages"][-1]["content"]
    if "Subject: Japan" in text:
        return Raw(body=completion(None, refusal=f"Not with {CANARY}."), headers=ECHO)
    body = completion(author(payload).replace("How can", f"How {CANARY} can"))
    body["model"] = CANARY
    body["system_fingerprint"] = CANARY
    return Raw(body=body, headers=ECHO)


@pytest.mark.parametrize("mode", [[], ["--batch", "--batch-poll", "0.02"]], ids=["live", "batch"])
def test_the_key_in_replies_and_headers(tmp_path, mode):
    with ScriptedServer(echoing, batches=Batches()) as server:
        address = server.url.replace("http://", f"http://user:{CANARY}@") + f"?key={CANARY}"
        result = construct(tmp_path, server.url, *mode)
        assert result.returncode == 0, result.stderr
        if not mode:
            assert server.keys and set(server.keys) == {f"Bearer {CANARY}"}
        is_nowhere(tmp_path, result)
        assert "***" in (tmp_path / "s.duckdb.llm.jsonl").read_text()
        is_nowhere(tmp_path, construct(tmp_path, address, "--journal", str(tmp_path / "other.jsonl")))


ERRORS = {
    "wrong key": Raw(401, {"error": {"message": f"Incorrect API key provided: {CANARY}"}}, ECHO),
    "bad request": Raw(400, {"error": {"message": f"Bad {CANARY}", "param": CANARY, "code": CANARY}}, ECHO),
    "a page": Raw(500, f"<html>{CANARY}</html>".encode(), ECHO),
    "busy": Raw(429, {"error": {"message": CANARY}}, {**ECHO, "Retry-After": "0"}),
    "no chat": Raw(200, f'"{CANARY}"'.encode(), ECHO),
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_key_in_errors(tmp_path, name):
    with ScriptedServer(lambda p: ERRORS[name]) as server:
        result = construct(tmp_path, server.url)
    assert "Traceback" not in result.stderr and (result.returncode != 0 or name == "bad request")
    is_nowhere(tmp_path, result)


def test_short_words_are_no_secrets():
    """Servers on one's own machine are often given EMPTY as a key; a reply may hold that word."""
    assert Mask(["EMPTY", "", "none"])("an EMPTY box") == "an EMPTY box"
    assert (
        Mask(secrets_of("k" * 9, "http://user-name:pass%20word@h/v1?key=q1234567890"))(
            f"{'k' * 9} pass word pass%20word q1234567890 h"
        )
        == "*** *** *** *** h"
    )
