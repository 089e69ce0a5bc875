"""An endpoint that behaves badly on purpose, and a run that is killed again and again: the same store in the end."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from typing import Any, NamedTuple

import pytest

from construction.llm.prompt_file import SAMPLES
from construction.llm.reply_cache import request_key
from construction.llm.step import Message, Request
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import ScriptStep
from curation.files.journal import Journal
from curation.loaders import load
from curation.store.store import Store
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support import forked_programs as programs
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


ENV = {**os.environ, "OPENAI_API_KEY": "sk-secret-for-tests", "PYTHONWARNINGS": "ignore"}
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


def whole_run(job, folder, url, *more):
    folder.mkdir(exist_ok=True)
    process = programs.run(*command(job, folder, url, *more), env=ENV, timeout=1800)
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout)


def contents(path):
    """Everything a store holds, times aside."""
    with Store.open(path) as store:
        kinds = (Fact, Neighbour, ScriptQuestion, Script, ScriptPrompt)
        records = {c.kind: [(r.key, r.id) for r in store.all(c)] for c in kinds}
        verdicts = sorted((v.key, v.id, v.label) for v in store.verdicts())
        lineage = sorted((x.item_id, x.stage, x.request or "", x.model or "") for x in store.lineages())
    return records, verdicts, lineage


def replies(folder):
    path = folder / "s.duckdb.llm.jsonl"
    return {k for k, _ in Journal(path).items() if k.startswith("llm/")} if path.exists() else set()


def killed_run(job, folder, server, moments, rng, *more):
    """The run, killed once that many calls were made (counted from its start); then once to its end."""
    folder.mkdir(exist_ok=True)
    records: set[str] = set()
    count = len(server.requests)
    for moment in moments:
        requests_before = len(server.requests)
        child = programs.start(*command(job, folder, server.url, *more), env=ENV)
        while len(server.requests) - count < moment and child.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.2))
        assert child.poll() is None, f"it ended before it could be killed: {child.stderr[-2000:]}"
        child.send_signal(signal.SIGKILL)
        child.wait()
        time.sleep(0.05)
        assert job.attempts > 1 or not {key_of(p) for p in server.requests[requests_before:]} & records
        records = replies(folder)
    requests_before = len(server.requests)
    result = whole_run(job, folder, server.url, *more)
    assert job.attempts > 1 or not {key_of(p) for p in server.requests[requests_before:]} & records
    return result


def compare(job, tmp_path, rng, kills, name):
    """Uninterrupted beside killed; returns what the endpoint did."""
    troubled = Troubled(hang=3.5)
    with ScriptedServer(troubled) as server:
        full_run = whole_run(job, tmp_path / f"{name}-whole", server.url)
        calls = len(server.requests)
    moments = sorted(rng.sample(range(1, int(0.97 * calls)), kills))
    with ScriptedServer(Troubled(hang=3.5)) as server:
        parts = killed_run(job, tmp_path / f"{name}-parts", server, moments, rng)
        assert len(server.requests) <= calls + kills * CONCURRENCY  # only calls in flight are repeated
    assert replies(tmp_path / f"{name}-parts") == replies(tmp_path / f"{name}-whole")
    one, other = (contents(tmp_path / f"{name}-{x}" / "s.duckdb") for x in ("whole", "parts"))
    assert one == other
    assert full_run.pop("calls") >= parts.pop("calls") and full_run == parts
    edited = next(stage for stage in full_run["funnel"] if stage["name"] == "edited facts")
    assert (edited["total"], full_run["unfinished"]) == (job.edits, 0)
    return troubled.did


def test_facts_killed_three_times(tmp_path, some):
    did = compare(some(30), tmp_path, random.Random(4), 3, "cf")
    assert did["good"] > 30 and len(did) > 6


def test_further_attempts_are_walked_through_like_any_call_when_killed(tmp_path, some):
    did = compare(some(20)._replace(attempts=2), tmp_path, random.Random(5), 2, "again")
    assert sum(did.get(name, 0) for name in ("empty", "refusal", "cut JSON", "wrong schema", "wrong types")) > 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_facts_killed_twelve_times(tmp_path, grouped, shared, some):
    """200 counterfactual and 120 temporal facts; all 1,803 with SCEDIT_EVERY_FACT=1, which takes minutes more."""
    rng = random.Random(20)
    temporal = shared / "data/wikifactdiff/shape_from_templama.jsonl"
    edits = [sum(f.new is not None for f in load(str(p)).facts) for p in (grouped, temporal)]
    assert edits == [1803, 120]
    job = Job(str(grouped), edits[0]) if os.environ.get("SCEDIT_EVERY_FACT") else some(200)
    did = compare(job, tmp_path, rng, 9, "cf")
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
    compare(Job(str(temporal), edits[1]), tmp_path, rng, 3, "t")


def test_batches_make_the_store_of_live_calls_also_when_killed(tmp_path, some):
    """Killed while the second round is out; nothing is submitted twice."""
    job = some(6)
    batch = ("--batch", "--batch-poll", "0.05")
    batches = Batches(polls=8)
    with ScriptedServer(author, batches=batches) as server:
        whole_run(job, tmp_path / "live", server.url)
        parts = tmp_path / "parts"
        parts.mkdir()
        child = programs.start(*command(job, parts, server.url, *batch), env=ENV)
        while len(batches.made) < 2 and child.poll() is None:
            time.sleep(0.005)
        time.sleep(0.3)
        assert child.poll() is None
        child.kill()
        child.wait()
        whole_run(job, parts, server.url, *batch)
    assert contents(parts / "s.duckdb") == contents(tmp_path / "live" / "s.duckdb")
    submitted = [key for keys in batches.submitted for key in keys]
    assert len(submitted) == len(set(submitted)) and replies(parts) == replies(tmp_path / "live")


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
        remainder, count = replies(tmp_path), len(server.requests)
        assert remainder
        whole_run(job, tmp_path, server.url)
        assert not {key_of(p) for p in server.requests[count:]} & remainder
