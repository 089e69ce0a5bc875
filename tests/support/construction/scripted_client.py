"""A stand-in for the client: answers by rule, without a network, a journal or a clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from construction.llm.client import Reply
from construction.llm.endpoint import Access
from construction.llm.replies import read
from construction.llm.reply_cache import StoredOutcome, request_key
from construction.llm.step import Message, Request
from tests.support.scripted_server import field, one_by_one

AT = "2026-11-21T00:00:00+00:00"


class ScriptedClient:
    """Answers requests with what ``answer`` makes of them: a text, a stored outcome, or None for no answer at all."""

    address = "http://scripted/v1"

    def __init__(self, answer: Callable[[Request], str | StoredOutcome | None], *, model: str = "m") -> None:
        self.endpoint, self._answer, self.asked = Access(model=model), answer, list[Request]()

    @property
    def calls(self) -> int:
        return len(self.asked)

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        turns = {"messages": [turn.model_dump() for turn in request.messages]}
        answer, key = one_by_one(partial(self._to_request, request))(turns), request_key(self.endpoint.model, request)
        if answer is None:
            return Reply("unanswered", None, "", "busy", key, None, None, "", 1)
        outcome = (
            StoredOutcome(kind="reply", raw=answer, at=AT, tokens_in=5, tokens_out=3)
            if isinstance(answer, str)
            else answer
        )
        status, value, message = read(outcome, request.reply)
        return Reply(status, value, outcome.raw, message, key, outcome.tokens_in, outcome.tokens_out, outcome.at, 1)

    def _to_request(self, request: Request, payload: dict[str, Any]) -> str | StoredOutcome | None:
        """The answer to a part of a request."""
        return self._answer(request._replace(messages=tuple(Message(**turn) for turn in payload["messages"])))

    def last_turns(self) -> list[str]:
        """The last turn of every request so far."""
        return [request.messages[-1].content for request in self.asked]


def client_of(answer: Callable[[Request], str | StoredOutcome | None], *, model: str = "m") -> Any:
    """A scripted client, typed as whatever is wanted."""
    return ScriptedClient(answer, model=model)


def plain_author(request: Request) -> str:
    """Questions and steps that every check lets pass, as many as are asked for."""
    user = request.messages[-1].content
    if "Question: " in user:
        return json.dumps({"steps": ["Pack a small bag", f"Fly to {field(user, 'Object')}"]})
    subject, count = field(user, "Subject"), int(field(user, "Number of questions"))
    return json.dumps({"questions": [f"How can a visitor number {n} enter {subject}?" for n in range(count)]})
