"""An endpoint that behaves badly on purpose, and a run that is killed again and again: the same store in the end."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from typing import Any, NamedTuple

import pytest

from construction.llm.prompt_file import SAMPLES
from construction.llm.reply_cache import request_key
from construction.llm.step import Message, Request
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import ScriptStep
from curation.loaders import load
from tests.support import forked_programs as programs
from tests.support.construction.kills import ENV, ended, killed
from tests.support.construction.stored import contents, replies
from tests.support.scripted_server import Batches, ScriptedServer, Troubled, author

AGAIN = "That script cannot be used"


def key_of(payload: dict[str, Any], *, model: str = "scripted") -> str:
    """The journal key of a first or a second script, or of questions, under the version whose reply type was sent."""
    messages = tuple(Message(**m) for m in payload["messages"])
    name = payload["response_format"]["json_schema"]["name"]
    steps = [
        (ScriptStep if task == "scripts" else QuestionStep)(prompt)
        for task in ("questions", "scripts")
        for prompt in FILES.shipped(task)
    ]
    step = next(s for s in steps if s.reply.__name__ == name)
    parameters = {k: v for k, v in payload.items() if k not in ("messages", "model", "response_format")}
    second = any(m.role == "user" and m.content.startswith(AGAIN) for m in messages)
    return request_key(model, Request(messages, step.reply, parameters, SAMPLES * (step.version - 1) + second))


CONCURRENCY = 16


class Job(NamedTuple):
    """A file of facts and how many of them to edit."""

    facts: str
    edits: int
    attempts: int = 1  # a further attempt is the same request on the wire, so keys tell calls apart only without


@pytest.fixture
def some(tmp_path, grouped):
    """Makes a file of the first facts only, which loads sooner."""

    def make(n):
        path = tmp_path / "facts.json"
        path.write_text(json.dumps(json.loads(grouped.read_text())[:n]))
        return Job(str(path), n)

    return make


def command(job, folder, url, *more):
    return [
        *(programs.CLI, "construct", job.facts, "--store", str(folder / "s.duckdb"), "--json"),
        *(
            "--model",
            "scripted",
            "--base-url",
            url,
            "--no-verify",
            "--questions",
            "1",
            "--candidates",
            "1",
            "--neighbours",
            "1",
        ),
        *(
            "--timeout",
            "3",
            "--limit",
            str(job.edits),
            "--concurrency",
            str(CONCURRENCY),
            "--attempts",
            str(job.attempts),
            *more,
        ),
    ]


def compare(job, folder, kills, seed):
    """Uninterrupted beside killed; returns what the endpoint did."""
    endpoints = []

    def endpoint():
        endpoints.append(Troubled(hang=3.5))
        return endpoints[-1]

    keys = key_of if job.attempts == 1 else None
    run = killed(partial(command, job), folder, endpoint, kills=kills, seed=seed, pause=0.2, key_of=keys)
    assert run.sent <= run.calls + kills * CONCURRENCY  # only calls in flight are repeated
    edited = next(stage for stage in run.printed["funnel"] if stage["name"] == "edited facts")
    assert (edited["total"], run.printed["unfinished"]) == (job.edits, 0)
    return endpoints[0].did


@pytest.mark.slow
def test_further_attempts_are_walked_through_like_any_call_when_killed(tmp_path, some):
    did = compare(some(20)._replace(attempts=2), tmp_path / "again", 2, 5)
    assert sum(did.get(name, 0) for name in ("empty", "refusal", "cut JSON", "wrong schema", "wrong types")) > 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_facts_killed_twelve_times(tmp_path, grouped, shared, some):
    """200 counterfactual and 120 temporal facts; all 1,803 with SCEDIT_EVERY_FACT=1, which takes minutes more."""
    temporal = shared / "data/wikifactdiff/shape_from_templama.jsonl"
    edits = [sum(f.new is not None for f in load(str(p)).facts) for p in (grouped, temporal)]
    assert edits == [1803, 120]
    job = Job(str(grouped), edits[0]) if os.environ.get("SCEDIT_EVERY_FACT") else some(200)
    did = compare(job, tmp_path / "cf", 9, 20)
    assert set(did) >= {
        "429",
        "429 with a wait",
        "429 with a date",
        "500",
        "502 page",
        "hang",
        "cut body",
        "no choices",
    }
    assert set(did) >= {"cut JSON", "wrong schema", "refusal", "empty", "enormous", "another language", "injection"}
    compare(Job(str(temporal), edits[1]), tmp_path / "t", 3, 21)


@pytest.mark.slow
def test_batches_make_the_store_of_live_calls_also_when_killed(tmp_path, some):
    """Killed while the second round is out; nothing is submitted twice."""
    job = some(6)
    batch = ("--batch", "--batch-poll", "0.05")
    batches = Batches(polls=8)
    with ScriptedServer(author, batches=batches) as server:
        live, parts = tmp_path / "live", tmp_path / "parts"
        live.mkdir()
        parts.mkdir()
        ended(command(job, live, server.url))
        child = programs.start(*command(job, parts, server.url, *batch), env=ENV)
        while len(batches.made) < 2 and child.poll() is None:
            time.sleep(0.005)
        time.sleep(0.3)
        assert child.poll() is None
        child.kill()
        child.wait()
        ended(command(job, parts, server.url, *batch))
    assert contents(parts / "s.duckdb") == contents(live / "s.duckdb")
    submitted = [key for keys in batches.submitted for key in keys]
    assert len(submitted) == len(set(submitted)) and replies(parts / "s.duckdb") == replies(live / "s.duckdb")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_stopped_run_says_how_to_go_on(tmp_path, some, number):
    job = some(20)
    with ScriptedServer(author, delay=0.05) as server:
        child = programs.start(*command(job, tmp_path, server.url), env=ENV)
        while len(server.requests) < 20:
            time.sleep(0.005)
        child.send_signal(number)
        status, out, err = child.wait(60), child.stdout, child.stderr
        assert status == 128 + number and out == "" and "Traceback" not in err
        last = err.strip().splitlines()[-1]
        assert "tokens spent, finished work is kept; give the same command again to resume" in last
        remainder, count = replies(tmp_path / "s.duckdb"), len(server.requests)
        assert remainder
        ended(command(job, tmp_path, server.url))
        assert not {key_of(p) for p in server.requests[count:]} & remainder
