"""A model asked for a number."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from construction.llm.client import Client
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from construction.llm.step import Message, Request
from curation.files.journal import Journal

KEY = "sk-secret-for-tests"


class Number(BaseModel):
    n: int


def request(text="one?", **more):
    return Request((Message(role="user", content=text),), Number, {"temperature": 0.5}, **more)


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Ask requests through a fresh client and the journal of this test; returns replies."""
    monkeypatch.setenv("TEST_KEY", KEY)

    def run(url, *requests, retry_failed=False, **options):
        async def main():
            with Journal(tmp_path / "j.jsonl", write=True) as journal:
                options_ = {"tries": 3, "backoff": 0.01, "key_name": "TEST_KEY", "timeout": 5.0, **options}
                endpoint = Access(model="m", base_url=url, **options_)
                async with Client(endpoint, ReplyCache(journal, retry_failed=retry_failed)) as client:
                    return [await client.ask(r) for r in requests]

        return asyncio.run(main())

    run.journal = tmp_path / "j.jsonl"
    return run


def turns(*answers):
    """Answer with each in turn, then with the last for ever."""
    answer_list = list(answers)
    return lambda payload: answer_list.pop(0) if len(answer_list) > 1 else answer_list[0]
