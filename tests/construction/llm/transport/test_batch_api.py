"""Files and calls of the Batch API: what is sent, what is made of results that are odd, and patience with an end."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest

from construction.llm.call_errors import CallError
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from construction.llm.transport import batch as batch_api
from construction.llm.transport.batch import BatchTransport, chunks, results
from construction.llm.transport.secrets import Mask
from schemas.core.errors import ModelError
from tests.support.scripted_server import Batches, Raw, ScriptedServer, completion

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
