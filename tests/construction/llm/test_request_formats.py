"""Endpoints differ; what they take is found by asking. Error bodies as the servers send them."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, Field

from construction.llm.call_errors import CallError
from construction.llm.request_formats import RequestFormat, body_of, fallback
from construction.llm.step import Message, Request, schema_of
from tests.support.construction.asked_numbers import Number
from tests.support.scripted_server import Raw, ScriptedServer


def request(text="one?", **parameters):
    return Request((Message(role="user", content=text),), Number, {"temperature": 0.5, "max_tokens": 50, **parameters})


def kind(payload):
    return payload.get("response_format", {}).get("type", "text")


OPENAI_FORMAT = Raw(400, {"error": {
    "message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    "type": "invalid_request_error", "param": None, "code": None}})  # fmt: skip
OPENAI_LIMIT = Raw(400, {"error": {
    "message": "Unsupported parameter: 'max_tokens' is not supported with this model."
    " Use 'max_completion_tokens' instead.",
    "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}})  # fmt: skip
OPENAI_TEMPERATURE = Raw(400, {"error": {
    "message": "Unsupported value: 'temperature' does not support 0.5 with this model."
    " Only the default (1) value is supported.",
    "type": "invalid_request_error", "param": "temperature", "code": "unsupported_value"}})  # fmt: skip
VLLM = Raw(400, {"object": "error", "type": "BadRequestError", "param": None, "code": 400, "message":
    "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or"
    " 'json_object'\", 'input': 'json_schema'}]"})  # fmt: skip
LLAMA_CPP = Raw(500, {"error": {"code": 500, "type": "server_error", "message":
    'response_format type must be one of "text" or "json_object", but got: json_schema'}})  # fmt: skip
OLLAMA = Raw(400, {"error": {"type": "invalid_request_error", "param": None, "code": None, "message": "json: "
    "cannot unmarshal object into Go struct field ChatCompletionRequest.response_format of type string"}})  # fmt: skip
PLAIN = Raw(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
UNNAMED = Raw(422, {"detail": "Unprocessable"})

SERVERS = {
    "openai, an older model": (lambda p: OPENAI_FORMAT if kind(p) == "json_schema" else None, ["object"], {}),
    "vllm": (lambda p: VLLM if kind(p) == "json_schema" else None, ["object"], {}),
    "llama.cpp": (lambda p: LLAMA_CPP if kind(p) == "json_schema" else None, ["object"], {}),
    "ollama": (lambda p: OLLAMA if kind(p) != "text" else None, ["text"], {}),
    "an error that is a string": (lambda p: PLAIN if kind(p) == "json_object" else None, ["schema"], {}),
    "an error without a reason": (lambda p: UNNAMED if kind(p) != "text" else None, ["text"], {}),
    "a reasoning model": (
        lambda p: OPENAI_LIMIT if "max_tokens" in p else OPENAI_TEMPERATURE if "temperature" in p else None,
        ["schema"],
        {"max_completion_tokens": 50},
    ),
}


@pytest.mark.parametrize("name", SERVERS)
def test_what_an_endpoint_takes_is_found_once_and_kept(ask, name):
    refuses, forms, payload = SERVERS[name]
    reply = '{"n": 4}' if forms != ["text"] else 'Sure! Here it is:\n```json\n{"n": 4}\n```\nAnything else?'
    with ScriptedServer(lambda p: refuses(p) or reply) as server:
        (first,) = ask(server.url, request())
        found_in = len(server.requests)
        more = ask(server.url, request("two?"), request("three?"))
    assert [r.value for r in (first, *more)] == [Number(n=4)] * 3
    assert len(server.requests) == found_in + 2  # a new process knows it from the journal
    last = server.requests[-1]
    assert {"json_schema": "schema", "json_object": "object", "text": "text"}[kind(last)] in forms
    assert {k: last[k] for k in payload} == payload
    if forms == ["text"]:
        assert '"properties"' in last["messages"][-1]["content"]  # told in words instead


def test_all_calls_at_once_find_it_too(ask):
    with ScriptedServer(lambda p: VLLM if kind(p) == "json_schema" else '{"n": 1}', delay=0.02) as server:
        replies = ask(server.url, *[request(str(i)) for i in range(12)], together=True, concurrency=12)
    assert {r.status for r in replies} == {"ok"} and len(server.requests) <= 24


def test_an_endpoint_that_forgets_is_asked_in_another_form_at_run_time(ask):
    requests = []

    def changes(payload):
        requests.append(payload)
        return OPENAI_FORMAT if len(requests) > 2 and kind(payload) == "json_schema" else '{"n": 1}'

    with ScriptedServer(changes) as server:
        replies = ask(server.url, *[request(str(i)) for i in range(5)])
    assert {r.status for r in replies} == {"ok"} and len(requests) == 6


def test_a_bad_request_of_its_own_is_not_taken_for_the_endpoints_manner(ask):
    long = Raw(400, {"error": {
        "message": "This model's maximum context length is 2048 tokens; 'max_tokens' is too large: 50.",
        "param": "max_tokens", "code": "context_length_exceeded"}})  # fmt: skip

    with ScriptedServer(lambda p: long if "long" in p["messages"][0]["content"] else '{"n": 1}') as server:
        good, bad, after = ask(server.url, request("a"), request("long"), request("b"))
    assert (good.status, bad.status, after.status) == ("ok", "permanent", "ok")
    assert kind(server.requests[-1]) == "json_schema" and server.requests[-1]["max_tokens"] == 50


def test_a_server_error_stays_transient(ask):
    assert (
        fallback(RequestFormat(), CallError("transient", "HTTP 500: oops", status=500), frozenset(), proven=False)
        is None
    )
    assert (
        fallback(RequestFormat(), CallError("transient", "HTTP 429: schema", status=429), frozenset(), proven=False)
        is None
    )
    assert (
        fallback(
            RequestFormat(reply="text"), CallError("permanent", "no schema", status=400), frozenset(), proven=False
        )
        is None
    )


def test_words_about_a_reply_type_are_no_part_of_a_request():
    class Answer(BaseModel):
        """Words for people.

        Attributes:
            title: A field of this name stays.
        """

        title: str = Field(description="more words")

    request = Request((Message(role="user", content="How?"),), Answer, {})
    sent = body_of("m", request, RequestFormat())["response_format"]["json_schema"]["schema"]
    for schema in (schema_of(Answer), sent):
        assert "words" not in json.dumps(schema) and schema["properties"]["title"] == {"type": "string"}
