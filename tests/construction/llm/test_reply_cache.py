"""Cached replies: what decides their key."""

from __future__ import annotations

import random

from construction.llm.reply_cache import ReplyCache, StoredOutcome, request_key
from construction.llm.step import PlainText
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


def test_equal_requests_are_one_and_what_differs_makes_another():
    others = (request("b"), request(sample=1), request()._replace(parameters={}), request()._replace(reply=PlainText))
    keys = {request_key("m", one) for one in (request(), *others)} | {request_key("n", request())}
    assert len(keys) == 6 and request_key("m", request(longest=9, usual=lambda: PlainText(text="x"))) in keys
