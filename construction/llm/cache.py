"""Replies on record: the raw text stands in the journal before anybody uses it, and is never paid for again."""

from __future__ import annotations

from typing import Any, Literal

from construction.llm.step import Request
from curation.journal import Journal
from schemas.config import validate
from schemas.ids import content_id
from schemas.records import Frozen


class Stored(Frozen):
    """One journaled outcome of one call.

    Attributes:
        kind: ``reply`` (text came), ``refused`` or ``permanent`` (this request never works).
        raw: The reply's text as it came.
        message: What the endpoint said where no reply came.
        finish: Why the model stopped (``stop``, ``length`` ...).
        served: Name of the model as the endpoint gives it.
        at: UTC time of the reply, ISO format.
    """

    kind: Literal["reply", "refused", "permanent"]
    raw: str = ""
    message: str = ""
    finish: str | None = None
    served: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    at: str


def request_key(model: str, request: Request) -> str:
    """Journal key of a call: hash of model, messages, parameters, reply schema and sample number.

    Where it is asked (the endpoint) and with which key is not part of it.
    """
    payload: dict[str, Any] = {
        "model": model,
        "messages": [m.model_dump() for m in request.messages],
        "parameters": request.parameters,
        "schema": request.reply.model_json_schema(),
        "sample": request.sample,
    }
    return "llm/" + content_id("request", payload)


class ReplyCache:
    """Stored outcomes in a journal, by request key.

    Args:
        journal: Open for writing.
        retry_failed: Behave as if refused and permanently failed calls had not been made.
    """

    def __init__(self, journal: Journal, *, retry_failed: bool = False) -> None:
        self._journal, self._retry_failed = journal, retry_failed
        self._redone: set[str] = set()

    def get(self, key: str) -> Stored | None:
        """The outcome of a call made earlier, or None."""
        value = self._journal.get(key)
        if value is None:
            return None
        stored = validate(Stored, value, where=f"{self._journal.path}, key {key}")
        if self._retry_failed and stored.kind != "reply" and key not in self._redone:
            return None
        return stored

    def put(self, key: str, stored: Stored) -> None:
        """Put an outcome on record; when this returns, it survives the death of the process."""
        self._journal.append(key, stored.model_dump(mode="json"))
        self._redone.add(key)
