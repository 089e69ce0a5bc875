"""Limits hold: on every reply, at any concurrency, over runs."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import date

import pytest

from construction.llm.connection import model_session
from construction.llm.cost.budget import Amount, Budget, BudgetReached, upper_bound
from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN, CallCounter
from construction.llm.cost.prices import Price, price_of
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from construction.llm.step import Message
from curation.files.journal import Journal
from schemas.core.errors import DataError, ModelError, UserError
from tests.support.construction.asked_numbers import PRICE, request
from tests.support.scripted_server import Batches, Raw, ScriptedServer, completion


@pytest.fixture(autouse=True)
def together(ask):
    ask.together = True


def counted(into, out):
    body = completion('{"n": 1}')
    body["usage"] = {"prompt_tokens": into, "completion_tokens": out}
    return Raw(body=body)


def test_cost_is_kept_with_the_reply(ask):
    with ScriptedServer(lambda p: counted(1000, 500)) as server:
        (reply,) = ask(server.url, request())
        (repeat,) = ask(server.url, request())
    assert reply.cost == repeat.cost == pytest.approx(0.002)


def test_a_token_budget_is_never_exceeded_and_stops_in_one_sentence(ask):
    rng = random.Random(0)

    def answer(payload):
        assert payload["max_tokens"] == 100
        return counted(rng.randint(1, 60), rng.randint(1, 100))

    with ScriptedServer(answer, delay=0.005) as server:
        with pytest.raises(BudgetReached, match=r"of 2,000 spent.*higher --max-tokens") as error:
            ask(server.url, *[request(str(i)) for i in range(100)], max_tokens=2000, reply_tokens=100, concurrency=16)
        first = ask.budget.spent.tokens
        assert "\n" not in str(error.value) and 1400 < first <= 2000
        on_record = sum(v["tokens_in"] + v["tokens_out"] for k, v in Journal(ask.journal).items() if k[:4] == "llm/")
        assert on_record == first  # nothing that was paid for was thrown away
        count = len(server.requests)
        with pytest.raises(BudgetReached, match="earlier runs on this journal included"):
            ask(server.url, *[request(str(i)) for i in range(100)], max_tokens=2000, reply_tokens=100)
        assert ask.budget.spent.tokens <= 2000 and len(server.requests) - count <= 2
        result = ask(server.url, *[request(str(i)) for i in range(100)], max_tokens=10**6, reply_tokens=100)
    assert {r.status for r in result} == {"ok"} and len(server.requests) == 100


def test_after_a_call_that_did_not_fit_no_smaller_one_goes(tmp_path):
    """The work stops, also for one that waits too; the reply of a call that went meanwhile would be thrown away."""

    async def main():
        with Journal(tmp_path / "j", write=True) as journal:
            budget = Budget(ReplyCache(journal), max_tokens=100)
            await budget.set_aside("a", Amount(60, 0))
            waiting = [
                asyncio.create_task(budget.set_aside(key, Amount(size, 0))) for key, size in (("b", 90), ("c", 50))
            ]
            await asyncio.sleep(0)
            budget.settle("a", Amount(20, 0))
            ended = await asyncio.gather(*waiting, budget.set_aside("d", Amount(1, 0)), return_exceptions=True)
            return budget.spent.tokens, [type(one) for one in ended]

    assert asyncio.run(main()) == (20, [BudgetReached] * 3)


def test_calls_whose_end_is_unknown_count_in_full(ask):
    answers = [Raw(body=completion('{"n": 1}'), delay=0.4), '{"n": 1}']
    with ScriptedServer(lambda p: answers.pop(0)) as server:
        ask(server.url, request(), max_tokens=10**6, reply_tokens=100, timeout=0.15)
        tokens = ask.budget.spent.tokens - 18
        assert tokens > 100
        answers.append('{"n": 1}')
        ask(server.url, request("b"), max_tokens=10**6, reply_tokens=100)
    assert ask.budget.earlier.tokens == tokens + 18


def test_calls_in_flight_at_a_kill_count_in_full(ask):
    with ScriptedServer(lambda p: '{"n": 1}') as server:
        ask(server.url, request(), max_tokens=10**6)
        lines = ask.journal.read_text().splitlines(keepends=True)
        ask.journal.write_text(lines[0])  # set aside, then killed
        assert "spend/open/llm/" in lines[0]
        aside = sum(json.loads(lines[0])["value"][:2])
        for _ in range(2):
            ask(server.url, request(), max_tokens=10**6)
            assert ask.budget.spent.tokens == aside + 18


def test_errors_cost_nothing(ask):
    answers = [Raw(429, {"error": {"message": "slow"}}), Raw(500, {}), '{"n": 1}']
    with ScriptedServer(lambda p: answers.pop(0)) as server:
        ask(server.url, request(), max_tokens=10**6)
    assert ask.budget.spent.tokens == 18


def test_uncounted_replies_take_the_upper_bound(ask):
    body = completion('{"n": 1}')
    del body["usage"]
    with ScriptedServer(lambda p: Raw(body=body)) as server:
        ask(server.url, request(), max_tokens=10**6)
    assert ask.budget.spent.tokens > 100


def test_an_endpoint_without_a_limit_on_replies_cannot_hold_a_budget(ask):
    def no_limits(payload):
        for name in ("max_tokens", "max_completion_tokens"):
            if name in payload:
                return Raw(400, {"error": {"message": f"unknown field {name}", "param": name}})
        return '{"n": 1}'

    with ScriptedServer(no_limits) as server:
        with pytest.raises(ModelError, match="no budget can be held"):
            ask(server.url, request(), max_tokens=10**6)
        (reply,) = ask(server.url, request()._replace(parameters={"max_tokens": 5}))
    assert reply.status == "ok"


def test_a_budget_is_held_in_batches_too(ask):
    batches = Batches()
    with ScriptedServer(lambda p: counted(50, 50), batches=batches) as server:
        with pytest.raises(BudgetReached):
            ask(
                server.url,
                *[request(str(i)) for i in range(50)],
                max_tokens=2500,
                reply_tokens=100,
                batch=True,
                poll=0.01,
            )
        assert 2000 <= ask.budget.spent.tokens <= 2500 and len(batches.made) > 1
        ask(server.url, *[request(str(i)) for i in range(50)], max_tokens=9999, reply_tokens=100, batch=True, poll=0.01)
    assert ask.budget.spent.tokens == 5000 and sum(map(len, batches.submitted)) == 50


@pytest.mark.parametrize("text", ["plain words", "éèü", "漢字かな", "🦊" * 9, "\u202eabc", "a" * 3000])
def test_the_upper_bound_is_above_every_tokeniser(text):
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 7}
    assert upper_bound(body, None).tokens_in >= len(text.encode()) and upper_bound(body, None).tokens_out == 7
    assert upper_bound(body, PRICE).cost == pytest.approx(PRICE.cost(*upper_bound(body, None)[:2]))


def test_two_clients_share_a_budget(tmp_path):
    async def main(url):
        access = Access(model="a", base_url=url, max_tokens=1000, reply_tokens=100)
        with model_session(tmp_path / "j", access) as session:
            other = access.model_copy(update={"model": "b"})
            async with session.client() as a, session.client(other) as b:
                try:
                    for i in range(50):
                        await a.ask(request(str(i)))
                        await b.ask(request(str(i)))
                except BudgetReached:
                    return session.budget.spent.tokens
        return None

    with ScriptedServer(lambda p: counted(10, 10)) as server:
        seconds = asyncio.run(main(server.url))
        assert seconds is not None and 400 < seconds <= 1000 and {p["model"] for p in server.requests} == {"a", "b"}


def test_prices(tmp_path):
    mini = price_of("gpt-4o-mini")
    assert mini and (mini.input, mini.output) == (0.15, 0.6)
    half = price_of("gpt-4o-mini-2024-07-18", batch=True)
    assert half and half.input == pytest.approx(0.075)
    assert price_of("qwen") is None
    path = tmp_path / "p.toml"
    path.write_text('checked = 2026-02-03\n[models]\n"qwen" = { input = 1, output = 2, batch_output = 0.5 }\n')
    live, batch = price_of("qwen", table=path), price_of("qwen", batch=True, table=path)
    assert live == Price(1, 2, date(2026, 2, 3)) and batch == Price(1, 0.5, date(2026, 2, 3))
    assert price_of("gpt-4o", table=path) is not None
    path.write_text('checked = 2026-02-03\n[models]\n"qwen" = { input = -1, output = 2 }\n')
    with pytest.raises(DataError, match="models.qwen.input"):
        price_of("qwen", table=path)
    with pytest.raises(UserError, match="no such"):
        price_of("qwen", table=tmp_path / "none.toml")


CHAT = [Message(role="system", content="x" * 9), Message(role="user", content="y" * 10)]


@pytest.mark.parametrize("times", [1, 3, 1000])
def test_tokens_are_rounded_once_over_all_calls(times):
    counter = CallCounter()
    counter.add(CHAT, reply_tokens=5, times=times)
    estimate = counter.estimate(Price(2.0, 10.0, date(2026, 1, 1)))
    assert estimate[:3] == (times, times * 19 // CHARACTERS_PER_TOKEN, 5 * times)
    assert estimate.cost == pytest.approx((2.0 * estimate.tokens_in + 10.0 * estimate.tokens_out) / 1e6)
