"""A model asked for a number."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest
from pydantic import BaseModel

from construction.llm.client import Client, gather_all
from construction.llm.cost.budget import Budget
from construction.llm.cost.prices import Price
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from construction.llm.step import Message, Request
from curation.files.journal import Journal

KEY = "sk-secret-for-tests"
PRICE = Price(1.0, 2.0, date(2026, 1, 1))


class Number(BaseModel):
    n: int


def request(text="one?", **more):
    return Request((Message(role="user", content=text),), Number, {"temperature": 0.5}, **more)


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Ask requests through a fresh client and the journal of this test, one by one or together; returns replies."""
    monkeypatch.setenv("TEST_KEY", KEY)

    def run(url, *requests, work=None, together=False, retry_failed=False, **options):
        async def main():
            with Journal(tmp_path / "j.jsonl", write=True) as journal:
                options_ = {"tries": 3, "backoff": 0.01, "key_name": "TEST_KEY", "timeout": 5.0, **options}
                endpoint, cache = (
                    Access(model="m", base_url=url, **options_),
                    ReplyCache(journal, retry_failed=retry_failed),
                )
                run.budget = Budget(cache, max_cost=endpoint.max_cost, max_tokens=endpoint.max_tokens)
                async with Client(endpoint, cache, budget=run.budget, price=PRICE) as client:
                    if work:
                        return await work(client)
                    if together or run.together:
                        return await gather_all([client.ask(r) for r in requests])
                    return [await client.ask(r) for r in requests]

        return asyncio.run(main())

    run.journal, run.together = tmp_path / "j.jsonl", False
    return run


def turns(*answers):
    """Answer with each in turn, then with the last for ever."""
    answer_list = list(answers)
    return lambda payload: answer_list.pop(0) if len(answer_list) > 1 else answer_list[0]
