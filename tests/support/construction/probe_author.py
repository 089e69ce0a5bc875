"""An endpoint that writes and answers probes: good replies, and some that checks must catch."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from tests.support.scripted_server import field


def documents(count: int) -> list[dict[str, str]]:
    """Documents as lines of a file."""
    return [
        {"text": f"The Orla{n} Bridge opened in {1900 + n}. Ada Brun{n} designed it.", "entity": f"Orla{n} Bridge"}
        for n in range(count)
    ]


def written_probe(query: str, answer: str, level: int, *tags: str) -> dict[str, Any]:
    """One probe as a model writes it."""
    return {"query": query, "answer": answer, "level": level, "tags": list(tags)}


def write(user: str) -> str:
    """The reply to a user's turn; a pure function."""
    text = user[user.rindex("<text>") :]
    digest = int(hashlib.sha256(user.encode()).hexdigest(), 16)
    if query := field(user, "Question"):
        known = re.search(r"opened in (\d+)", text)
        return json.dumps({"answer": known[1] if known and "pened" in query else "unknown"})
    told = re.search(r"The (\w+) Bridge opened in (\d+)\. (Ada \w+) designed", text)
    assert told, user
    name, year, who = told.groups()
    probes = [
        written_probe(f"The {name} Bridge opened in ____.", year, 1),
        written_probe(f"When was the {name} Bridge opened?", year, 2),
        written_probe(f"Who planned the {name} Bridge?", who, 2),
        written_probe(f"What did {who} design?", f"the {name} Bridge", 3, "Reverse"),
        written_probe(f"Was the {name} Bridge built by a woman?", "yes", 3, "Weather"),
    ]
    if digest % 2:
        probes.append(written_probe(f"The {name} Bridge was planned by an engineer.", who, 1))  # no blank
    if digest % 3 == 0:
        probes.append(written_probe("Who designed the bridge?", who, 2))  # names nothing
    return json.dumps({"probes": probes})


def answer(payload: dict[str, Any]) -> str:
    """For a scripted server."""
    turns = [m["content"] for m in payload["messages"] if m["role"] == "user"]
    return write(next(turn for turn in reversed(turns) if "<text>" in turn))
