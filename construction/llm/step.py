"""What a language model is asked: messages, reply type and parameters; the network is somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import SkipJsonSchema

from schemas.core.records import Frozen


class Message(Frozen):
    """One turn of a chat.

    Example:
        >>> Message(role="user", content="Hello").model_dump()
        {'role': 'user', 'content': 'Hello'}
    """

    role: Literal["system", "user", "assistant"]
    content: str


class Request(NamedTuple):
    """Everything that decides a reply, and nothing else; equal requests are one request.

    Attributes:
        messages: The chat so far.
        reply: Type of the reply; its JSON schema (``schema_of``) is part of the request.
        parameters: Sampling parameters as the endpoint takes them (``temperature``, ``max_tokens``, ``seed`` ...).
        sample: Number of the sample, from 0: the same question asked again on purpose.
        longest: Tokens of the reply at most, where neither the parameters nor the user say; no part of a call's key.
        usual: Makes a reply as a good model gives it, for estimates; no part of a call's key.
    """

    messages: tuple[Message, ...]
    reply: type[BaseModel]
    parameters: dict[str, Any]
    sample: int = 0
    longest: int | None = None
    usual: Callable[[], BaseModel | None] = lambda: None


class StrictReply(BaseModel):
    """A reply that holds what was asked for and nothing else."""

    model_config = ConfigDict(extra="forbid")


class PlainText(BaseModel):
    """A reply that is a text and not JSON: asked for without a schema, taken as it comes, never sent back for repair.

    Attributes:
        text: What the model wrote.
        cut: Whether the limit on its length ended it.
    """

    text: str
    cut: bool = False
    # What a model that thinks first thought, where the endpoint sends it beside the text.
    thought: SkipJsonSchema[str | None] = None


@lru_cache(maxsize=256)
def schema_of(reply: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a reply type without its titles and descriptions, which are docstrings for people.

    Example:
        >>> schema_of(Message)["properties"]["content"]
        {'type': 'string'}
    """
    schema: dict[str, Any] = without_words(reply.model_json_schema())
    return schema


def without_words(schema: Any) -> Any:
    """A JSON schema without titles and descriptions; a property of such a name stays."""
    if isinstance(schema, list):
        return [without_words(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    named = ("title", "description")
    return {k: without_words(v) for k, v in schema.items() if k not in named or not isinstance(v, str)}
