"""What a step sends: a request that is the same for the same item, and nothing shared between two."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from construction.llm.reply_cache import request_key
from construction.llm.step import Message, PlainText, PromptStep


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
