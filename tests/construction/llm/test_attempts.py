"""Asking again: bounded, each attempt stored with its cost, the same in a resumed run, and nobody pays twice."""

from __future__ import annotations

import asyncio
import json

import pytest

from construction.llm.client import Client, lineage_of_call
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from curation.files.journal import Journal
from schemas.lineage import Lineage
from tests.support.construction.asked_numbers import KEY, Number, request, turns
from tests.support.scripted_server import Raw, ScriptedServer, completion

CUT = Raw(body=completion('{"n": ', finish="length"))
REFUSED = Raw(body=completion(None, refusal="no"))
CONTENT_FILTER = Raw(body=completion("", finish="content_filter"))
FILTERED = Raw(400, {"error": {"message": "flagged", "code": "content_filter"}})
FAILURES = {"empty": "", "cut off": CUT, "another shape": '{"m": 1}', "prose": "I think so."}
FAILURES |= {"no text": Raw(body=completion(None)), "refused": REFUSED, "content filter": CONTENT_FILTER}


@pytest.mark.parametrize("name", FAILURES)
def test_what_cannot_be_used_is_asked_again_at_once_and_a_resumed_run_asks_nothing(ask, name):
    rounds = [FAILURES[name]] * (1 if name in ("refused", "content filter") else 2)  # the second is the repair
    with ScriptedServer(turns(*rounds, '{"n": 5}')) as server:
        (reply,) = ask(server.url, request(), attempts=3)
        calls = len(server.requests)
        (repeat,) = ask(server.url, request(), attempts=3)
        assert len(server.requests) == calls == len(rounds) + 1 == reply.asked
    assert reply.value == Number(n=5) and repeat == reply._replace(asked=0)
    assert (reply.tokens_in, reply.tokens_out) == (11 * calls, 7 * calls), "failed attempts were paid for"


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_attempts_have_an_end_which_is_a_value_on_record(ask, attempts):
    with ScriptedServer(lambda p: "") as server:
        first = ask(server.url, request(), attempts=attempts)
        second = ask(server.url, request(), attempts=attempts)
        assert len(server.requests) == 2 * attempts
    assert [r.status for r in first + second] == ["unparseable"] * 2
    assert len(dict(Journal(ask.journal).items())) == 2 * attempts + 1  # and the form of requests that works


def test_a_later_attempt_on_record_is_found_by_a_run_that_makes_only_one(ask):
    with ScriptedServer(turns("", "", '{"n": 5}')) as server:
        ask(server.url, request(), attempts=2)
        (reply,) = ask(server.url, request(), attempts=1)
        assert reply.value == Number(n=5) and reply.asked == 0 and len(server.requests) == 3


def test_what_is_permanent_is_not_asked_again_at_once(ask):
    long = Raw(400, {"error": {"message": "This model's maximum context length is 9 tokens."}})
    with ScriptedServer(turns('{"n": 1}', long)) as server:
        _, reply = ask(server.url, request("a"), request("b"), attempts=4)
        assert reply.status == "permanent" and len(server.requests) == 2
        server.answer = lambda p: '{"n": 2}'
        (repeat,) = ask(server.url, request("b"), retry_failed=True)
    assert repeat.value == Number(n=2)


@pytest.mark.parametrize("name", [*FAILURES, "filtered"])
def test_failures_of_earlier_runs_are_asked_again_only_when_told_and_keep_their_cost(ask, name):
    failure = FILTERED if name == "filtered" else FAILURES[name]
    with ScriptedServer(turns('{"n": 1}', failure)) as server:
        ask(server.url, request("a"), request("b"))
        server.answer, count = (lambda p: '{"n": 9}'), len(server.requests)
        assert ask(server.url, request("b"))[0].value is None and len(server.requests) == count
        (repeat,) = ask(server.url, request("b"), retry_failed=True)
        assert repeat.value == Number(n=9) and len(server.requests) == count + 1
        (settlement,) = ask(server.url, request("b"))
        (told_again,) = ask(server.url, request("b"), retry_failed=True)
        assert settlement.value == told_again.value == Number(n=9) and len(server.requests) == count + 1
    paid = [s.tokens_in or 0 for _, s in ReplyCache(Journal(ask.journal)).replies()]
    assert sum(paid) == 11 * (len(server.requests) - (name == "filtered")), "no cost goes off the record"


def test_retrying_asks_each_failure_once_a_run_however_often_it_fails(ask):
    with ScriptedServer(lambda p: REFUSED) as server:
        for run in range(3):
            assert ask(server.url, request(), retry_failed=run > 0)[0].status == "refused"
        assert len(server.requests) == 3
        assert ask(server.url, request())[0].asked == 0


def test_an_attempt_without_an_answer_is_left_for_the_next_run(ask):
    """The first attempt failed and is cached; the second met a busy endpoint."""
    busy = Raw(503, {"error": {"message": "busy"}})
    with ScriptedServer(turns('{"n": 1}', REFUSED, busy)) as server:
        _, pending = ask(server.url, request("a"), request("b"), attempts=2)
        assert pending.status == "unanswered"
        server.answer, count = (lambda p: '{"n": 2}'), len(server.requests)
        (now,) = ask(server.url, request("b"), attempts=2)
        assert now.value == Number(n=2) and len(server.requests) == count + 1


def test_a_seeded_request_is_not_sent_again_with_the_seed_that_failed(ask):
    seeded = request()._replace(parameters={"seed": 7})
    with ScriptedServer(turns(REFUSED, '{"n": 1}')) as server:
        ask(server.url, seeded, attempts=2)
    assert [p["seed"] for p in server.requests] == [7, 8]


def test_samples_and_attempts_do_not_meet(ask):
    with ScriptedServer(lambda p: REFUSED) as server:
        ask(server.url, *[request(sample=n) for n in range(4)], attempts=3)
        assert len(server.requests) == 12


def test_a_line_names_model_address_and_cost_of_all_rounds_and_no_password(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)
    step = QuestionStep(FILES.load("questions", "paper"))

    async def main(url):
        with Journal(tmp_path / "j", write=True) as journal:
            async with Client(Access(model="m", base_url=url, key_name="TEST_KEY"), ReplyCache(journal)) as client:
                reply = await client.ask(request())
                record = {"sample": 3}
                line = lineage_of_call("item", "scripts", reply, client, step, parents=("q",), detail=record)
                record["sample"] = 4
                return reply, line, lineage_of_call("item", "scripts", reply, client, step)

    with ScriptedServer(turns('{"n": "many"}', '{"n": 3}')) as server:
        reply, line, bare = asyncio.run(main(server.url.replace("http://", "http://me:password1@")))
    assert (line.tokens_in, line.tokens_out) == (22, 14), "a repair is paid for, too"
    assert line.endpoint == server.url and "password1" not in line.model_dump_json() and KEY not in str(line)
    assert (line.model, line.prompt, line.request, line.made_at) == ("m", "questions_paper@6", reply.request, reply.at)
    words = {"wording": step.wording.digest}
    assert line.detail == {"sample": 3, **words}, "the detail is a copy"
    assert (bare.parents, bare.detail) == ((), words) and line.parents == ("q",)
    assert Lineage.model_validate(json.loads(line.model_dump_json())) == line
