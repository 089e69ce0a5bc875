"""From the text of a reply to a value: reading, and asking for a correction; no network."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ValidationError

from construction.llm.cache import Stored
from construction.llm.faults import Fault
from construction.llm.step import Message, Request
from schemas.config import explain

_QUOTED = 4000  # characters of a bad reply that the repair round shows to the model


def outcome_of(body: str) -> Stored | Fault:
    """An HTTP reply as an outcome; anything but a chat completion counts as a passing fault of something in between."""
    try:
        data = json.loads(body)
        choice = data["choices"][0]
        message = choice["message"]
        text, refusal = message.get("content"), message.get("refusal")
    except (ValueError, LookupError, TypeError, AttributeError):
        return Fault("transient", "the reply is not a chat completion")
    usage = data.get("usage") if isinstance(data.get("usage"), dict) else {}
    finish = choice.get("finish_reason") if isinstance(choice.get("finish_reason"), str) else None
    refused = refusal or (finish == "content_filter" and "the endpoint's content filter stopped the reply")
    return Stored(
        kind="refused" if refused else "reply",
        raw=text if isinstance(text, str) else "",
        message=" ".join(str(refused).split())[:300] if refused else "",
        finish=finish,
        served=data.get("model") if isinstance(data.get("model"), str) else None,
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        at=now(),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def read(
    stored: Stored, reply: type[BaseModel]
) -> tuple[Literal["ok", "refused", "unparseable", "permanent"], BaseModel | None, str]:
    """What an outcome means for its type: status, value, and why there is none."""
    if stored.kind != "reply":
        return stored.kind, None, stored.message or stored.kind
    try:
        return "ok", reply.model_validate_json(_unfenced(stored.raw)), ""
    except ValidationError as error:
        cut = "; the reply was cut at the length limit" if stored.finish == "length" else ""
        return "unparseable", None, (explain(error) if stored.raw.strip() else "the reply is empty") + cut


def _unfenced(text: str) -> str:
    """JSON without the Markdown fence that some models put around it."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text.split("\n", 1)[1].removesuffix("```")
    return text


def repair(request: Request, raw: str, error: str) -> Request:
    """The request with the bad reply and its error appended."""
    complaint = f"This reply cannot be used: {error}. Send the whole corrected JSON object and nothing else."
    turns = (Message(role="assistant", content=raw[:_QUOTED] or "(empty)"), Message(role="user", content=complaint))
    return request._replace(messages=(*request.messages, *turns))


def now() -> str:
    """UTC time to the second, ISO format."""
    return datetime.now(UTC).isoformat(timespec="seconds")
