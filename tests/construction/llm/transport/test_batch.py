"""Batch mode: the same journal and replies as live, nothing submitted twice."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest

from construction.llm.call_errors import CallError
from construction.llm.client import gather_all
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from construction.llm.transport import batch as batch_api
from construction.llm.transport.batch import BatchTransport, chunks, results
from construction.llm.transport.secrets import Mask
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


def test_calls_of_a_batch_that_expired_go_into_the_next_one(ask):
    batches = Batches(fate=lambda n: ("expired", 0.5) if n == 0 else "completed")
    with ScriptedServer(answer, batches=batches) as server:
        replies = ask(server.url, ["a", "bb", "ccc", "dddd"])
    assert {r.status for r in replies} == {"ok"} and server.requests == []
    assert sum(map(len, batches.submitted)) == 2 + 4 + 4, "two calls are submitted twice"


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


# Files and calls of the Batch API: what is sent, what is made of results that are odd, and patience with an end.
KEY = "sk-secret-for-tests"
MASK = Mask([KEY])


def body(text):
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_files_keep_the_limits_and_lose_no_call():
    calls = {f"llm/{n}": body("x" * n) for n in range(40)}
    size = 1200
    parts = list(chunks(calls, max_calls=7, size=size))
    assert [key for keys, _ in parts for key in keys] == list(calls)
    for keys, data in parts:
        lines = [json.loads(line) for line in data.splitlines()]
        assert [line["custom_id"] for line in lines] == keys and len(keys) <= 7
        assert [line["body"] for line in lines] == [calls[k] for k in keys]
        assert len(data) <= size
    assert list(chunks({}, max_calls=7, size=size)) == []


def test_a_call_that_is_too_large_for_a_file_gets_one_of_its_own():
    parts = list(chunks({"a": body("x"), "big": body("y" * 999), "c": body("z")}, max_calls=9, size=300))
    assert [keys for keys, _ in parts] == [["a"], ["big"], ["c"]]


def line(key, response=None, error=None):
    return json.dumps({"custom_id": key, "response": response, "error": error})


def test_a_result_file_is_read_line_by_line_and_what_is_none_of_ours_is_passed_over():
    good = line("llm/1", {"status_code": 200, "body": completion(f"yes {KEY}")})
    text = "\n".join(["", "no json", "[]", '{"custom_id": ["llm/1"]}', line("llm/9", {}), good, good[:30]])
    result = results(text, {"llm/1", "llm/2"}, mask=MASK)
    assert list(result) == ["llm/1"] and result["llm/1"].raw == "yes ***"


FATES = {
    "an error reply": ({"status_code": 400, "body": {"error": {"message": "too long"}}}, None, "permanent", "too long"),
    "a limit": ({"status_code": 429, "body": {"error": {"message": "slow"}}}, None, "transient", "slow"),
    "no completion": ({"status_code": 200, "body": {"choices": []}}, None, "transient", "no"),
    "no body": ({"status_code": 200}, None, "transient", ""),
    "expired": (None, {"code": "batch_expired", "message": "not done in time"}, "transient", "not done in time"),
    "a code alone": (None, {"code": "batch_cancelled"}, "transient", "batch_cancelled"),
    "nothing": (None, None, "transient", "no reply in the batch"),
    "nonsense": ("x", "y", "transient", "no reply in the batch"),
}


@pytest.mark.parametrize("name", FATES)
def test_every_fate_of_a_call_is_a_kind(name):
    response, error, kind, words = FATES[name]
    outcome = results(line("llm/1", response, error), {"llm/1"}, mask=MASK)["llm/1"]
    assert isinstance(outcome, CallError) and outcome.kind == kind and words in outcome.message


def use(url, work, *, tries=3):
    async def main():
        async with openai.AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0, timeout=5.0) as client:
            endpoint = Access(model="m", base_url=url, key_name="TEST_KEY", tries=tries, backoff=0.01)
            return await work(
                BatchTransport(client, endpoint, ReplyCache(None), address=url, mask=MASK, keep=lambda *_: None)
            )

    return asyncio.run(main())


def test_a_batch_that_was_made_though_its_reply_was_lost_is_not_made_twice():
    """The first answer is cut off on its way; the second attempt looks for the mark first."""
    batches = Batches()
    handle, losses = batches.handle, []

    def cut(server, path, body, kind):
        answer = handle(server, path, body, kind)
        if path.startswith("/v1/batches") and body and not losses:
            losses.append(True)
            return Raw(500, {"error": {"message": "oops"}})
        return answer

    batches.handle = cut
    _, lines = next(chunks({"llm/1": body("x")}, max_calls=9, size=9999))
    with ScriptedServer(lambda p: "yes", batches=batches) as server:
        assert use(server.url, lambda api: api._create("mark-1", lines))
    assert losses and len(batches.made) == 1


def test_a_batch_that_the_endpoint_forgot_is_nothing():
    with ScriptedServer(lambda p: "yes", batches=Batches()) as server:
        assert use(server.url, lambda api: api._retrieve("batch-unknown")) is None


FAULTS = {
    "a wrong key": (Raw(401, {"error": {"message": f"bad {KEY}"}}), "TEST_KEY", 1),
    "no such thing": (Raw(404, {"error": {"message": "no batches here"}}), "no batches here", 1),
    "always busy": (Raw(503, {"error": {"message": "busy"}}), "3 tries", 3),
}


@pytest.mark.parametrize("name", FAULTS)
def test_patience_has_an_end_and_says_why(name, monkeypatch):
    answer, words, calls = FAULTS[name]
    records = []

    class Broken(Batches):
        def handle(self, *kind):
            records.append(kind)
            return answer

    waits = []
    monkeypatch.setattr(batch_api.asyncio, "sleep", lambda seconds: _note(waits, seconds))
    with ScriptedServer(lambda p: "yes", batches=Broken()) as server, pytest.raises(ModelError) as error:
        use(server.url, lambda api: api._patiently(lambda: api._find("mark")))
    assert words in str(error.value) and KEY not in str(error.value) and len(records) == calls
    assert len(waits) == (calls if calls > 1 else 0)


async def _note(waits, seconds):
    waits.append(seconds)
