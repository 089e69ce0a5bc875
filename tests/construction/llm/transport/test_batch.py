"""Batch mode: the same journal and replies as live, nothing submitted twice."""

from __future__ import annotations

import asyncio
import json

import pytest

from construction.llm.client import gather_all
from curation.files.journal import Journal
from schemas.core.errors import ModelError
from tests.support.construction.asked_numbers import request
from tests.support.scripted_server import Batches, Raw, ScriptedServer, completion


def answer(payload):
    text = payload["messages"][0]["content"]
    if text == "refuse":
        return Raw(body=completion(None, refusal="no"))
    if text == "bad" and len(payload["messages"]) == 1:
        return "what?"
    return json.dumps({"n": len(text)})


async def two_stages(client, texts):
    """Each text, then a second question that depends on the first reply: what construction does."""

    async def one(text):
        first = await client.ask(request(text))
        second = await client.ask(request(f"{text} {first.value.n if first.value else '-'}"))
        return [first, second]

    return [r for pair in await gather_all([one(t) for t in texts]) for r in pair]


@pytest.fixture
def ask(ask):
    def run(url, texts, *, batch=True, stop_after=None):
        stages = lambda client: asyncio.wait_for(two_stages(client, texts), stop_after)  # noqa: E731
        return ask(url, work=stages, batch=batch, poll=0.02)

    run.journal = ask.journal
    return run


def plain(replies):
    """Replies without times and what they cost in calls."""
    return [r._replace(at="", asked=0) for r in replies]


TEXTS = ["a", "bb", "ccc", "refuse", "bad"]


def test_batches_give_the_replies_and_keys_of_live_calls(tmp_path, ask):
    batches = Batches()
    with ScriptedServer(answer, batches=batches) as server:
        replies = ask(server.url, TEXTS)
        assert server.requests == []
        (tmp_path / "j.jsonl").rename(tmp_path / "batch.jsonl")
        live = ask(server.url, TEXTS, batch=False)
    assert plain(replies) == plain(live)
    keys = [
        {k: (v["raw"], v["kind"]) for k, v in Journal(tmp_path / name).items() if k.startswith("llm/")}
        for name in ("batch.jsonl", "j.jsonl")
    ]
    assert keys[0] == keys[1] and len(keys[0]) == 11
    assert [len(keys) for keys in batches.submitted] == [5, 5, 1]  # first, second with the repair of "bad", its second
    records = [v for k, v in Journal(tmp_path / "batch.jsonl").items() if k.startswith("llm/")]
    assert {v["batch"] for v in records if v["kind"] == "reply"} == {"batch-0", "batch-1", "batch-2"}


def test_a_run_that_dies_while_waiting_finds_its_batch_again(ask):
    batches = Batches(polls=10**6)
    with ScriptedServer(answer, batches=batches) as server:
        with pytest.raises(TimeoutError):
            ask(server.url, TEXTS, stop_after=0.8)
        assert len(batches.made) == 1
        batches.made[0]["left"] = 0
        batches.polls = 0
        ask(server.url, TEXTS)
        assert [len(x) for x in batches.submitted] == [5, 5, 1]
        ask(server.url, TEXTS)
    assert len(batches.made) == 3  # all are stored


def test_a_run_that_dies_between_making_a_batch_and_noting_its_id_finds_it(ask):
    batches = Batches()
    with ScriptedServer(answer, batches=batches) as server:
        ask(server.url, ["a"])
        lines = ask.journal.read_text().splitlines(keepends=True)
        meant = [n for n, x in enumerate(lines) if '"meant"' in x]
        ask.journal.write_text("".join(lines[: meant[0] + 1]))
        count = len(batches.made)
        ask(server.url, ["a"])
        assert len(batches.made) == count + 1  # the first was found by its mark; the second stage was not yet meant
        ask.journal.write_text("".join(lines[: meant[0] + 1]))
        batches.made.clear()
        ask(server.url, ["a"])
        assert len(batches.submitted[-2:]) == 2 and batches.submitted[-2] == batches.submitted[0]  # never made: again


def test_a_live_run_takes_what_a_batch_holds_and_does_not_pay_twice(ask):
    batches = Batches(polls=10**6)
    with ScriptedServer(answer, batches=batches) as server:
        with pytest.raises(TimeoutError):
            ask(server.url, TEXTS, stop_after=0.8)
        with pytest.raises(ModelError, match="--batch"):
            ask(server.url, TEXTS, batch=False)
        assert server.requests == []
        batches.made[0]["left"] = 0
        ask(server.url, TEXTS, batch=False)
    contents = [p["messages"][0]["content"] for p in server.requests]
    assert not {"a", "bb", "ccc"} & set(contents) and len(contents) == 6 and len(batches.made) == 1


def test_a_batch_too_large_for_the_account_is_halved(ask):
    batches = Batches(fate=lambda n: "failed:token_limit_exceeded" if n == 0 else "completed")
    with ScriptedServer(answer, batches=batches) as server:
        replies = ask(server.url, ["a", "bb", "ccc", "dddd"])
    assert {r.status for r in replies} == {"ok"}
    assert [len(x) for x in batches.submitted[:3]] == [4, 2, 2]


def test_a_failed_batch_is_one_sentence(ask):
    batches = Batches(fate=lambda n: "failed:invalid_json_line")
    with ScriptedServer(answer, batches=batches) as server, pytest.raises(ModelError, match="it is invalid_json_line"):
        ask(server.url, ["a"])
    assert len(batches.made) == 1


def test_an_endpoint_without_batches_is_told(ask):
    with ScriptedServer(answer) as server, pytest.raises(ModelError, match="HTTP 404.*leave --batch out"):
        ask(server.url, ["a"])


def test_a_form_that_is_refused_goes_into_the_next_round(ask):
    def no_schema(payload):
        if payload.get("response_format", {}).get("type") == "json_schema":
            return Raw(400, {"error": {"message": "response_format json_schema is not supported"}})
        return answer(payload)

    batches = Batches()
    with ScriptedServer(no_schema, batches=batches) as server:
        replies = ask(server.url, ["a", "bb"])
    assert {r.status for r in replies} == {"ok"}
    assert [len(x) for x in batches.submitted] == [2, 2, 2]  # refused, first, second: the form is known by then
