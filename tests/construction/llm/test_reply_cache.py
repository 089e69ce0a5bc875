"""Cached replies: what decides their key."""

from __future__ import annotations

import asyncio
import random

import pytest
from pydantic import BaseModel, ValidationError

from construction.llm.client import Client
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache, StoredOutcome, request_key
from construction.llm.step import Message, PlainText, PromptStep
from curation.files.journal import Journal
from tests.support.construction.asked_numbers import Number, request
from tests.support.scripted_server import ScriptedServer


def test_equal_requests_at_once_are_asked_once(tmp_path):
    async def main(url):
        with Journal(tmp_path / "j", write=True) as journal:
            async with Client(Access(model="m", base_url=url), ReplyCache(journal)) as client:
                return await asyncio.gather(*[client.ask(request()) for _ in range(9)])

    with ScriptedServer(lambda p: '{"n": 1}', delay=0.05) as server:
        replies = asyncio.run(main(server.url))
    assert {r.status for r in replies} == {"ok"} and len(server.requests) == 1


@pytest.mark.parametrize(
    "change",
    [{"text": "two?"}, {"sample": 1}, {"parameters": {"temperature": 0.6}}, {"model": "other"}, {"reply": "other"}],
    ids=str,
)
def test_key_depends_on_what_decides_the_reply(change):
    class Other(BaseModel):
        m: int

    other = request(change.get("text", "one?"), sample=change.get("sample", 0))
    other = other._replace(parameters=change.get("parameters", other.parameters))
    other = other._replace(reply=Other if "reply" in change else Number)
    assert request_key(change.get("model", "m"), other) != request_key("m", request())


def test_a_flipped_bit_never_changes_a_reply(tmp_path):
    """A damaged reply is moved away and the call is made again; the others stay."""
    path = tmp_path / "j"
    with Journal(path, write=True) as journal:
        for n in range(5):
            ReplyCache(journal).put(f"llm/{n}", StoredOutcome(kind="reply", raw=f'{{"n": {n}}}', at="2026-11-21"))
        want = dict(ReplyCache(journal).replies())
    data, draw = path.read_bytes(), random.Random(1)
    for _ in range(200):
        flipped = bytearray(data)
        flipped[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        with Journal(path, write=True) as journal:
            left = dict(ReplyCache(journal).replies())
        assert 3 <= len(left) < 5 and left.items() <= want.items()


class Answer(BaseModel):
    text: str


class Echo(PromptStep[str, str]):
    """Asks for an item and takes the answer."""

    name, version, reply = "echo", 3, Answer

    def prompt(self, item):
        return [Message(role="system", content="Say it."), Message(role="user", content=item)]

    def parse(self, item, reply):
        return [reply.text]


def test_equal_requests_are_one_and_what_differs_makes_another():
    step = Echo()
    one = step.request("a", parameters={"temperature": 0.5})
    assert one == step.request("a", parameters={"temperature": 0.5}) and isinstance(one.messages, tuple)
    keys = {
        request_key(model, request)
        for model, request in (
            ("m", one),
            ("n", one),
            ("m", step.request("b", parameters={"temperature": 0.5})),
            ("m", step.request("a", parameters={"temperature": 0.6})),
            ("m", step.request("a", parameters={"temperature": 0.5}, sample=1)),
            ("m", one._replace(reply=PlainText)),
        )
    }
    assert len(keys) == 6 and step.label == "echo@3"


def test_a_message_has_one_of_three_roles():
    with pytest.raises(ValidationError):
        Message(role="tool", content="x")


def test_a_step_without_its_two_methods_says_so_when_it_is_used():
    class Lazy(PromptStep[str, str]):
        name, version, reply = "lazy", 1, Answer

    with pytest.raises(NotImplementedError):
        Lazy().request("x", parameters={})
    with pytest.raises(NotImplementedError):
        Lazy().parse("x", Answer(text="x"))
