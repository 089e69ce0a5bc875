"""From the text of a reply to a value: reading it, and asking for a correction or once more; no network.

Another attempt is the same request with another sample number, so it has a journal key of its own: what an attempt
brought stays stored with its cost, and a resumed run walks through the same attempts without asking.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from construction.llm.call_errors import CallError, error_in_reply
from construction.llm.reply_cache import StoredOutcome
from construction.llm.step import Message, PlainText, Request
from schemas.core.clock import now
from schemas.core.config import explain

logger = logging.getLogger(__name__)

LONGEST_REPLY = 2_000_000  # characters of a reply that are read and stored
_QUOTED = 4000  # characters of a bad reply that the repair round shows to the model
_STARTS = 50  # places in a reply where an object is looked for
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_NO_CHAT = "the reply is not a chat completion"
ATTEMPTS = 2  # of a construction, where the user does not say
ASKED_AGAIN = ("unparseable", "refused")
"""Fates of a call that another attempt may mend: empty, cut off, of the wrong shape, refused. What is permanent (a
context that is too long) would fail again."""

_APART = 1_000_000  # between the sample numbers of two attempts; no step takes so many samples


class Reply(NamedTuple):
    """The outcome of a request, after repair.

    Attributes:
        status: ``ok``, ``refused``, ``unparseable``, ``permanent``, or ``unanswered`` (nothing is cached: ask again
            another time).
        value: The parsed reply where ``ok``.
        raw: Text of the last reply.
        message: Why it is not ``ok``.
        request: Journal key of the last call.
        asked: Calls that went over the network now; 0 when all was cached.
        cost: US dollars of all rounds and attempts together; None where no price is known.
        answered_by: Model that gave the last reply, where it is not the one that was asked.
    """

    status: Literal["ok", "refused", "unparseable", "permanent", "unanswered"]
    value: BaseModel | None
    raw: str
    message: str
    request: str
    tokens_in: int | None
    tokens_out: int | None
    at: str
    asked: int
    cost: float | None = None
    answered_by: str | None = None


def outcome_of(body: str) -> StoredOutcome | CallError:
    """An HTTP reply as an outcome; anything but a chat completion counts as a passing fault of something in between."""
    try:
        data = json.loads(body)
        return outcome_of_data(_without_surrogates(data) if r"\ud" in body.lower() else data)
    except (ValueError, RecursionError):
        return CallError("transient", _NO_CHAT, lost=True)


def outcome_of_data(data: Any) -> StoredOutcome | CallError:
    """A decoded HTTP reply as an outcome."""
    try:
        choice = data["choices"][0]
        message = choice["message"]
        text, refusal = _joined(message.get("content")), message.get("refusal")
    except (LookupError, TypeError, AttributeError):
        error = data.get("error") if isinstance(data, dict) else None
        return error_in_reply(error) if error else CallError("transient", _NO_CHAT, lost=True)
    if error := choice.get("error") or (not text and data.get("error")):
        return error_in_reply(error)._replace(lost=True)
    usage = data.get("usage") if isinstance(data.get("usage"), dict) else {}
    finish = _text_or_none(choice.get("finish_reason"))
    if len(text) > LONGEST_REPLY:
        logger.warning("a reply of %s characters is cut after %s", f"{len(text):,}", f"{LONGEST_REPLY:,}")
        text, finish = text[:LONGEST_REPLY], "length"
    refused = refusal or (finish == "content_filter" and "the endpoint's content filter stopped the reply")
    return StoredOutcome(
        kind="refused" if refused else "reply",
        raw=text,
        message=" ".join(str(refused)[:2000].split())[:300] if refused else "",
        finish=finish,
        served=_text_or_none(data.get("model")),
        fingerprint=_text_or_none(data.get("system_fingerprint")),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        at=now(),
        thought=_thought(message),
    )


def _thought(message: dict[str, Any]) -> str | None:
    """What a model thought first, where the endpoint sends it beside the text: in a field of its own, or as parts."""
    for field in ("reasoning_content", "reasoning"):
        if isinstance(value := message.get(field), str) and value.strip():
            return value.strip()
    parts = message.get("content")
    named = [p for p in parts if isinstance(p, dict)] if isinstance(parts, list) else []
    thoughts = [text for p in named if p.get("type") == "thinking" for text in [_joined(p.get("thinking"))] if text]
    return "\n".join(thoughts) or None


def _joined(content: Any) -> str:
    """The text of a message, which some endpoints send in parts; parts of other types (thoughts) are left out."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _without_surrogates(value: Any) -> Any:
    """A decoded value without half surrogate pairs, which no record can hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(v) for v in value]
    return (
        {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()} if isinstance(value, dict) else value
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def read(
    stored: StoredOutcome, reply: type[BaseModel]
) -> tuple[Literal["ok", "refused", "unparseable", "permanent"], BaseModel | None, str]:
    """What an outcome means for its type: status, value, and why there is none.

    The whole text is tried first, then JSON objects inside it: in a Markdown fence, between prose, after a thought.
    Several different objects of the type (a draft, the requested format quoted) make a reply unparseable.
    """
    if stored.kind != "reply":
        return stored.kind, None, stored.message or stored.kind
    if issubclass(reply, PlainText):
        return "ok", reply(text=stored.raw, cut=stored.finish == "length", thought=stored.thought), ""
    try:
        return "ok", reply.model_validate_json(stored.raw), ""
    except ValidationError as error:
        first = error
    values: list[BaseModel] = []
    for candidate in _objects(stored.raw):
        try:
            value = reply.model_validate(candidate, strict=False)
        except ValidationError as error:
            first = error
        else:
            values += [] if value in values else [value]
    if len(values) == 1:
        return "ok", values[0], ""
    if values:
        return "unparseable", None, f"the reply holds {len(values)} different JSON objects that could be meant"
    cut = "; the reply was cut at the length limit" if stored.finish == "length" else ""
    return "unparseable", None, (explain(first)[:500] if stored.raw.strip() else "the reply is empty") + cut


def _objects(text: str) -> list[dict[str, Any]]:
    """JSON objects that stand in a text, those inside another not counted; at most some places are tried."""
    text = _THOUGHT.sub("", text)
    decoder, objects, start = json.JSONDecoder(), list[dict[str, Any]](), text.find("{")
    for _ in range(_STARTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            objects.append(_without_surrogates(value))
        start = text.find("{", end)
    return objects


def repair(request: Request, raw: str, error: str) -> Request:
    """The request with the bad reply and its error appended."""
    complaint = f"This reply cannot be used: {error}. Send the whole corrected JSON object and nothing else."
    turns = (Message(role="assistant", content=raw[:_QUOTED] or "(empty)"), Message(role="user", content=complaint))
    return request._replace(messages=(*request.messages, *turns))


def another_attempt(request: Request, attempt: int) -> Request:
    """The request as its attempt number ``attempt`` (from 0) sends it; a seed is another one each time.

    Example:
        >>> again = another_attempt(Request((), PlainText, {"seed": 7}, sample=3), 2)
        >>> again.sample, again.parameters
        (2000003, {'seed': 9})
    """
    if not attempt:
        return request
    parameters = dict(request.parameters)
    if "seed" in parameters:
        parameters["seed"] += attempt
    return request._replace(sample=request.sample + _APART * attempt, parameters=parameters)


def known_sum(values: Iterable[Any]) -> Any:
    """The sum of what is known, or None where nothing is."""
    known = [v for v in values if v is not None]
    return sum(known) if known else None
