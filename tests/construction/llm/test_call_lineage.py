"""The line that a record of a model call leaves: what it cost, who was asked and where, and no secret."""

from __future__ import annotations

import asyncio
import json

from construction.llm.call_lineage import lineage_of_call
from construction.llm.client import Access, Client
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from schemas.lineage import Lineage
from tests.support.construction.asked_numbers import KEY, request, turns
from tests.support.scripted_server import ScriptedServer


def test_a_line_names_model_address_and_cost_of_all_rounds_and_no_password(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)

    async def main(url):
        with Journal(tmp_path / "j", write=True) as journal:
            async with Client(Access(model="m", base_url=url, key_name="TEST_KEY"), ReplyCache(journal)) as client:
                reply = await client.ask(request())
                record = {"sample": 3}
                line = lineage_of_call("item", "scripts", reply, client, "p@2", parents=("q",), detail=record)
                record["sample"] = 4
                return reply, line, lineage_of_call("item", "scripts", reply, client, "p@2")

    with ScriptedServer(turns('{"n": "many"}', '{"n": 3}')) as server:
        reply, line, bare = asyncio.run(main(server.url.replace("http://", "http://me:password1@")))
    assert (line.tokens_in, line.tokens_out) == (22, 14), "a repair is paid for, too"
    assert line.endpoint == server.url and "password1" not in line.model_dump_json() and KEY not in str(line)
    assert (line.model, line.prompt, line.request, line.made_at) == ("m", "p@2", reply.request, reply.at)
    assert line.detail == {"sample": 3}, "the detail is a copy"
    assert (bare.parents, bare.detail) == ((), {}) and line.parents == ("q",)
    assert Lineage.model_validate(json.loads(line.model_dump_json())) == line
