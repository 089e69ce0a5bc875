"""What an endpoint takes, found by asking: how a reply type is sent, which parameters it knows.

The first real call is the question. An endpoint that does not take JSON schemas is asked for a JSON object, else for
plain text from which the object is read; a parameter that it names as unknown is renamed or left out. What works is
noted in the journal for this address, model, reply type and set of parameters, so it is found out once. No provider's
name is tested.
"""

from __future__ import annotations

import json
import logging
import re
from functools import lru_cache
from typing import Any, Literal

import openai
from pydantic import BaseModel

from construction.llm.call_errors import CallError
from construction.llm.reply_cache import ReplyCache
from construction.llm.step import PlainText, Request, schema_of, without_words
from schemas.core.config import validate
from schemas.core.ids import content_id
from schemas.core.records import Frozen

logger = logging.getLogger(__name__)

_FORMAT_WORDS = re.compile(r"response_format|json_schema|json_object|structured|grammar|guided|schema|\bformat\b", re.I)
_SURE_WORDS = re.compile(r"response_format|json_schema|json_object|grammar|guided", re.I)
_LENGTH_WORDS = re.compile(r"context|too large|too long|too many tokens", re.I)
_RENAMED = {"max_tokens": "max_completion_tokens"}


class RequestFormat(Frozen):
    """How requests of one kind are put.

    Attributes:
        reply: How the reply type is asked for.
        renamed: Whether ``max_tokens`` goes under its newer name.
        without: Parameters left out, because the endpoint does not take them.
    """

    reply: Literal["schema", "object", "text"] = "schema"
    renamed: bool = False
    without: tuple[str, ...] = ()


class KnownFormats:
    """The forms that are known to work, by kind of request.

    Args:
        cache: Where they are noted.
        address: The endpoint.
        model: The model.
    """

    def __init__(self, cache: ReplyCache, *, address: str, model: str) -> None:
        self._cache, self._where = cache, (address, model)

    def of(self, request: Request) -> RequestFormat | None:
        """The form in which a request of this kind was answered; None where none was."""
        key = self._key(request)
        noted = self._cache.noted(key)
        return None if noted is None else validate(RequestFormat, noted, where=f"journal, key {key}")

    def works(self, request: Request, form: RequestFormat) -> None:
        """Note that a request was answered in this form."""
        known = self.of(request)
        if known != form:
            if form != (known or RequestFormat()):
                left_out = ", ".join(form.without) or "change"
                logger.info("the endpoint takes replies as %s, without %s", form.reply, left_out)
            self._cache.note(self._key(request), form.model_dump(mode="json"))

    def _key(self, request: Request) -> str:
        return f"form/{_kind(*self._where, request.reply, tuple(sorted(request.parameters)))}"


@lru_cache(maxsize=1024)
def _kind(address: str, model: str, reply: type[BaseModel], names: tuple[str, ...]) -> str:
    return content_id("form", [address, model, schema_of(reply), names])


def fallback(form: RequestFormat, fault: CallError, names: frozenset[str], *, proven: bool) -> RequestFormat | None:
    """The form to try after an error, or None where the error is about something else.

    Args:
        form: What was sent.
        fault: What came back.
        names: Parameters of the request, by the names we use.
        proven: Whether the form has worked for another request of this kind.
    """
    if fault.status not in (400, 415, 422, 500, 501):
        return None
    error_text = f"{fault.named or ''} {fault.message}"
    if fault.status >= 500 and not _SURE_WORDS.search(error_text):
        return None
    if _LENGTH_WORDS.search(error_text):
        return None  # about this request, and it may name max_tokens all the same
    for name in sorted(names - set(form.without)):
        sent = _RENAMED[name] if form.renamed and name in _RENAMED else name
        if not re.search(rf"\b{sent}\b", error_text):
            continue
        if name in _RENAMED and not form.renamed:
            return form.model_copy(update={"renamed": True})
        return form.model_copy(update={"without": tuple(sorted({*form.without, name}))})
    if form.reply != "text" and (_FORMAT_WORDS.search(error_text) or not proven):
        return form.model_copy(update={"reply": "object" if form.reply == "schema" else "text"})
    return None


def body_of(model: str, request: Request, form: RequestFormat, *, longest: int | None = None) -> dict[str, Any]:
    """The body of a chat completion.

    Args:
        model: Name of the model.
        request: What to ask.
        form: How to put it.
        longest: Tokens of the reply at most, where the request does not say; None for no limit.
    """
    messages = [{"role": m.role, "content": m.content} for m in request.messages]
    parameters = dict(request.parameters)
    if longest is not None and not {"max_tokens", "max_completion_tokens"} & parameters.keys():
        parameters["max_tokens"] = longest
    parameters = {k: v for k, v in parameters.items() if k not in form.without}
    if form.renamed:
        parameters = {_RENAMED.get(k, k): v for k, v in parameters.items()}
    if issubclass(request.reply, PlainText):
        pass
    elif form.reply == "schema":
        parameters["response_format"] = _response_format(request.reply)
    else:
        messages[-1]["content"] += _wanted_shape(request.reply)
        if form.reply == "object":
            parameters["response_format"] = {"type": "json_object"}
    return {"model": model, "messages": messages, **parameters}


@lru_cache(maxsize=256)
def _response_format(reply: type[BaseModel]) -> dict[str, Any]:
    function: Any = openai.pydantic_function_tool(reply)["function"]  # the public way to the strict form of a schema
    schema = {"schema": without_words(function["parameters"]), "name": reply.__name__, "strict": True}
    return {"type": "json_schema", "json_schema": schema}


@lru_cache(maxsize=256)
def _wanted_shape(reply: type[BaseModel]) -> str:
    schema = json.dumps(schema_of(reply), sort_keys=True)
    return f"\n\nReply with one JSON object and nothing else. It fits this JSON schema:\n{schema}"
