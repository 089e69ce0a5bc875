"""Asking again: bounded, each attempt stored with its cost, the same in a resumed run, and nobody pays twice."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from construction.llm.call_errors import pause
from construction.llm.client import Client, lineage_of_call
from construction.llm.endpoint import Access
from construction.llm.replies import LONGEST_REPLY
from construction.llm.reply_cache import ReplyCache
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from curation.files.journal import Journal
from schemas.core.errors import ModelError
from schemas.lineage import Lineage
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


# Asking again: bounded, each attempt stored with its cost, the same in a resumed run, and nobody pays twice.
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


# Faults of an endpoint: which pass, which stay, which stop.
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
