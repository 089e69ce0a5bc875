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
    told = options or ["It may rise", "It may fall", "It may stay"]
    return {"question": text, "options": told, "answer": answer, "about_subject": about}


def write(user: str, *, call: int = 0) -> str:
    """The reply to a user's turn; a pure function."""
    event, topic = field(user, "Event"), field(user, "Topic")
    n = number_of(user)
    if topic:
        count = int(field(user, "Number of events"))
        made = [" ".join(f"{topic}{word}{call}{k}x{n % 97}" for word in "abcdef") for k in range(count)]
        made[-1] = f"{made[0]} again"  # too like the first
        return json.dumps({"events": [{"event": t, "subject": t.split()[0]} for t in made]})
    if names := field(user, "Names that have to stay"):
        lost = n % 3 == 0
        return json.dumps({"text": "Good news." if lost else f"It is official: {event} {names.replace(';', ',')}."})
    inside, outside = int(field(user, "Questions in scope")), int(field(user, "Questions out of scope"))
    many = [written_question(f"How may thing {k} of {n % 1000} change?", answer="ABC"[k % 3]) for k in range(inside)]
    if n % 2:
        many[0] = written_question("How may this event matter?", options=["Much", "Little", "Not"])
    others = [written_question(f"How may rain {k} in Lima {n % 1000} change?", answer="C") for k in range(outside)]
    return json.dumps({"in_scope": many, "out_of_scope": others})


def answer(payload: dict[str, Any]) -> str:
    """For a scripted server; calls of a topic are told apart by nothing, so they bring the same events."""
    return write(next(m["content"] for m in reversed(payload["messages"]) if m["role"] == "user"))
