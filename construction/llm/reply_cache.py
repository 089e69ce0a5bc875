"""Cached replies: the raw text stands in the journal before anybody uses it, and is never paid for again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from construction.llm.step import Request, schema_of
from curation.files.journal import Journal
from schemas.core.config import validate
from schemas.core.ids import content_id
from schemas.core.records import UNLESS_EMPTY, Frozen
from schemas.text.escaping import escape_line

_LONGEST_NAME = 120  # characters
REPLIES = "llm/"  # keys of replies begin so; notes (forms, batches, reservations) have other beginnings


class StoredOutcome(Frozen):
    """One journaled outcome of one call.

    Attributes:
        kind: ``reply`` (text came), ``refused`` or ``permanent`` (this request never works).
        raw: The reply's text as it came; a key that the endpoint sent back is masked.
        message: What the endpoint said where no reply came.
        finish: Why the model stopped (``stop``, ``length`` ...).
        served: Name of the model as the endpoint gives it.
        fingerprint: Of that model's configuration, where the endpoint gives one.
        at: UTC time of the reply, ISO format.
        cost: US dollars by the price table of that day; None where the price is unknown.
        batch: Id of the batch that brought it.
        thought: What a model that thinks first thought, where the endpoint sends it beside the answer.
        estimated: The endpoint's token counts could not be true; these are estimates.
    """

    kind: Literal["reply", "refused", "permanent"]
    raw: str = ""
    message: str = ""
    finish: str | None = None
    served: str | None = None
    fingerprint: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    at: str
    cost: float | None = None
    batch: str | None = None
    thought: str | None = None
    estimated: Annotated[bool, UNLESS_EMPTY] = False

    @property
    def answering_model(self) -> str | None:
        """The model that answered, with its fingerprint, as a short line; None where the endpoint does not name it."""
        name = f"{self.served} ({self.fingerprint})" if self.served and self.fingerprint else self.served
        return escape_line(name, longest=_LONGEST_NAME) if name else None


def request_key(model: str, request: Request) -> str:
    """Journal key of a call: hash of model, messages, parameters, reply schema and sample number.

    Where it is asked (the endpoint), in which form, live or in a batch, and with which key is not part of it.
    """
    payload: dict[str, Any] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "parameters": request.parameters,
        "schema": schema_of(request.reply),
        "sample": request.sample,
    }
    return REPLIES + content_id("request", payload)


class ReplyCache:
    """Stored outcomes in a journal, by request key; and notes that a later run needs.

    Args:
        journal: Open for writing; None where nothing is cached and nothing will be.
        retry_failed: Behave as if permanently failed calls had not been made; whoever asks makes a further attempt at
            those whose reply could not be used (``construction.llm.replies``), which stay stored with their cost.
    """

    def __init__(self, journal: Journal | None, *, retry_failed: bool = False) -> None:
        self._journal: Any = {} if journal is None else journal
        self.retry_failed = retry_failed
        self._redone: set[str] = set()

    def get(self, key: str) -> StoredOutcome | None:
        """The outcome of a call made earlier, or None."""
        value = self._journal.get(key)
        if value is None:
            return None
        stored = validate(StoredOutcome, value, where=f"{self._journal.path}, key {key}")
        if self.retry_failed and stored.kind == "permanent" and key not in self._redone:
            return None
        return stored

    def put(self, key: str, stored: StoredOutcome) -> None:
        """Store an outcome; when this returns, it survives the death of the process."""
        self._journal.append(key, stored.model_dump(mode="json", exclude_none=True))
        self._redone.add(key)

    def replies(self) -> Iterator[tuple[str, StoredOutcome]]:
        """Every cached outcome."""
        for key, value in self._journal.items():
            if key.startswith(REPLIES):
                yield key, validate(StoredOutcome, value, where=f"{self._journal.path}, key {key}")

    def note(self, key: str, value: Any) -> None:
        """Keep something that is not a reply; the last note of a key holds."""
        self._journal.append(key, value)

    def noted(self, key: str) -> Any | None:
        """A note, or None."""
        return self._journal.get(key)

    def notes(self, prefix: str) -> Iterator[tuple[str, Any]]:
        """Notes whose key begins so, in the order of their first lines."""
        for key in self._journal.keys():  # noqa: SIM118 - keys() is a list, and the journal may grow meanwhile
            if key.startswith(prefix):
                yield key, self._journal[key]
