"""An endpoint that writes about events: good replies, and some that checks must catch, by the text asked about."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tests.support.scripted_server import field


def number_of(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


def written_question(text: str, *, answer: str = "A", about: bool = False, options: Any = None) -> dict[str, Any]:
    """One tendency question as a model writes it."""
    option_texts = options or ["It may rise", "It may fall", "It may stay"]
    return {"question": text, "options": option_texts, "answer": answer, "about_subject": about}


def write(user: str, *, call: int = 0) -> str:
    """The reply to a user's turn; a pure function."""
    event, topic = field(user, "Event"), field(user, "Topic")
    n = number_of(user)
    if topic:
        count = int(field(user, "Number of events"))
        texts = [" ".join(f"{topic}{word}{call}{k}x{n % 97}" for word in "abcdef") for k in range(count)]
        texts[-1] = f"{texts[0]} again"  # too like the first
        return json.dumps({"events": [{"event": t, "subject": t.split()[0]} for t in texts]})
    if names := field(user, "Names that have to stay"):
        is_lost = n % 3 == 0
        return json.dumps({"text": "Good news." if is_lost else f"It is official: {event} {names.replace(';', ',')}."})
    inner_share, out_of_scope_count = int(field(user, "Questions in scope")), int(field(user, "Questions out of scope"))
    many = [
        written_question(f"How may thing {k} of {n % 1000} change?", answer="ABC"[k % 3]) for k in range(inner_share)
    ]
    if n % 2:
        many[0] = written_question("How may this event matter?", options=["Much", "Little", "Not"])
    others = [
        written_question(f"How may rain {k} in Lima {n % 1000} change?", answer="C") for k in range(out_of_scope_count)
    ]
    return json.dumps({"in_scope": many, "out_of_scope": others})


def answer(payload: dict[str, Any]) -> str:
    """For a scripted server; calls of a topic are told apart by nothing, so they bring the same events."""
    return write(next(m["content"] for m in reversed(payload["messages"]) if m["role"] == "user"))
