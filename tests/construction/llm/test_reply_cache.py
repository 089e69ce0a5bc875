"""Cached replies: what decides their key."""

from __future__ import annotations

import random

from pydantic import BaseModel

from construction.llm.reply_cache import ReplyCache, StoredOutcome, request_key
from construction.llm.step import Message, PlainText, PromptStep
from curation.files.journal import Journal
from tests.support.construction.asked_numbers import request
from tests.support.scripted_server import ScriptedServer


def test_equal_requests_at_once_are_asked_once(ask):
    with ScriptedServer(lambda p: '{"n": 1}', delay=0.05) as server:
        replies = ask(server.url, *[request() for _ in range(9)], together=True)
    assert {r.status for r in replies} == {"ok"} and len(server.requests) == 1


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
