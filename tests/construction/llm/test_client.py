from __future__ import annotations

import asyncio
import json

import pytest

from construction.llm.client import Client
from construction.llm.endpoint import Access
from construction.llm.replies import LONGEST_REPLY
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from schemas.core.errors import ModelError
from tests.support.construction.asked_numbers import KEY, Number, request, turns
from tests.support.scripted_server import Raw, ScriptedServer, completion


def test_reply_is_parsed_and_journaled_and_never_asked_again(ask):
    with ScriptedServer(lambda p: '{"n": 4}') as server:
        (first,) = ask(server.url, request())
        (repeat,) = ask(server.url, request())
    assert (first.status, first.value, first.raw, first.tokens_in, first.asked) == (
        "ok",
        Number(n=4),
        '{"n": 4}',
        11,
        1,
    )
    assert repeat == first._replace(asked=0)
    assert len(server.requests) == 1
    payload = server.requests[0]
    assert payload["response_format"]["json_schema"]["schema"]["properties"]["n"]["type"] == "integer"
    assert (payload["model"], payload["temperature"]) == ("m", 0.5)
    assert server.keys == [f"Bearer {KEY}"]
    assert KEY not in ask.journal.read_text()


def test_invalid_json_is_repaired_with_the_error_shown(ask):
    with ScriptedServer(turns('{"n": "many"}', '{"n": 3}')) as server:
        (reply,) = ask(server.url, request())
        (repeat,) = ask(server.url, request())
    assert (reply.status, reply.value, reply.asked) == ("ok", Number(n=3), 2)
    assert (repeat.value, repeat.asked) == (Number(n=3), 0)
    assert len(server.requests) == 2
    *_, bad, complaint = server.requests[1]["messages"]
    assert bad == {"role": "assistant", "content": '{"n": "many"}'}
    assert "valid integer" in complaint["content"]


LONG = Raw(400, {"error": {"message": "This model's maximum context length is 9 tokens."}})


def test_a_bad_request_that_comes_first_is_on_record_once_another_call_is_answered(ask):
    with ScriptedServer(lambda p: LONG if "long" in p["messages"][0]["content"] else '{"n": 1}') as server:
        (single_run,) = ask(server.url, request("long"))
        assert single_run.status == "permanent" and ask.journal.read_text() == "", (
            "the endpoint may take nothing at all"
        )
        ask(server.url, request("long"), request("a"))
        assert sorted(k[:4] for k, _ in Journal(ask.journal).items()) == ["form", "llm/", "llm/"]
        count = len(server.requests)
        ask(server.url, request("long 2"))
        repeat = ask(server.url, request("long"), request("long 2"))
    assert {r.status for r in repeat} == {"permanent"} and len(server.requests) == count + 1, (
        "the journal says it works"
    )


def test_an_endpoint_that_takes_nothing_stops_the_work_and_leaves_no_record(ask):
    bad = Raw(400, {"error": {"message": "no schema"}})
    with ScriptedServer(lambda p: bad) as server, pytest.raises(ModelError, match="no schema"):
        ask(server.url, *[request(str(i)) for i in range(20)])
    assert len(server.requests) == 5 * 3 and ask.journal.read_text() == ""  # as schema, as object, as text


def test_huge_reply_is_kept_whole_but_quoted_short(ask):
    huge = json.dumps({"x": "y" * 300_000})
    with ScriptedServer(turns(huge, '{"n": 1}')) as server:
        (reply,) = ask(server.url, request())
    assert reply.value == Number(n=1)
    assert len(server.requests[1]["messages"][1]["content"]) == 4000
    assert len(ask.journal.read_text()) > 300_000


def test_a_reply_above_the_limit_is_cut_and_that_is_said(ask, caplog):
    with ScriptedServer(turns('{"n": 1}' + " " * LONGEST_REPLY)) as server:
        (reply,) = ask(server.url, request())
    assert reply.value == Number(n=1) and len(reply.raw) == LONGEST_REPLY
    assert "a reply of 2,000,008 characters is cut after 2,000,000" in caplog.text


def answered_as(*models):
    """Replies of one model after the other; the last one for ever."""
    return turns(*[Raw(body={**completion('{"n": 1}'), "model": m, "system_fingerprint": "f"}) for m in models])


def test_who_answers_in_place_of_the_model_that_was_asked_is_named(ask, caplog):
    with ScriptedServer(answered_as("m2", "m2", "m3")) as server:
        replies = ask(server.url, *[request(str(n)) for n in range(4)])
    assert [reply.answered_by for reply in replies] == ["m2 (f)", "m2 (f)", "m3 (f)", "m3 (f)"]
    said = [record.getMessage().partition(": ")[2] for record in caplog.records]
    assert said == [
        "m is asked, and m2 (f) answers; lineage names both",
        "m is asked, and after m2 (f) now m3 (f) answers; the lineage of each record names its own",
    ]


def test_a_second_model_stops_a_strict_run_and_every_later_one_on_its_journal(ask):
    with ScriptedServer(answered_as("m", "m3")) as server:
        for _ in range(2):
            with pytest.raises(ModelError, match=r"m is asked, and after m \(f\) now m3 \(f\) answers"):
                ask(server.url, *[request(str(n)) for n in range(4)], strict=True)
        assert len(server.requests) == 2, "nothing is asked after the second model"
        assert ask(server.url, request("1"))[0].answered_by == "m3 (f)"


@pytest.mark.parametrize("counts", [(-5, 3), (11, -1), (0, 0), (10**18, 10**18)])
def test_token_counts_that_cannot_be_are_replaced_and_leave_the_budget_open(ask, caplog, counts):
    usage = {"prompt_tokens": counts[0], "completion_tokens": counts[1]}
    with ScriptedServer(lambda p: Raw(body={**completion('{"n": 1}'), "usage": usage})) as server:
        for text in ("one?", "two?"):
            (reply,) = ask(server.url, request(text), max_tokens=9_000)
            assert reply.value == Number(n=1) and 0 < reply.tokens_in + reply.tokens_out < 20
    assert "counts tokens that cannot be" in caplog.text


def test_calls_that_are_sent_again_are_counted(tmp_path):
    """Two time limits and an error in passing: three answers were lost on the way to one."""
    server_turns = turns(
        Raw(body=completion("{}"), delay=0.5), Raw(body=completion("{}"), delay=0.5), Raw(500), '{"n": 1}'
    )

    async def main(url):
        with Journal(tmp_path / "j", write=True) as journal:
            endpoint = Access(model="m", base_url=url, timeout=0.15, backoff=0.01, tries=4)
            async with Client(endpoint, ReplyCache(journal)) as client:
                client._answered = True  # an endpoint that was heard of before gets all its tries
                reply = await client.ask(request())
                return reply, client.budget.activity

    with ScriptedServer(server_turns) as server:
        reply, progress = asyncio.run(main(server.url))
    assert reply.value == Number(n=1) and (progress.answers, progress.failed) == (1, 0)
    assert (progress.waiting, progress.repeated) == (0, 3)
