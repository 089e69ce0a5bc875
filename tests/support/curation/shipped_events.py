"""Make the shipped split ``events`` of its source: ``python -m tests.support.curation.shipped_events``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from curation.loaders.formats.elken import question_key
from curation.shipped import SHIPPED
from curation.splits.split_file import Split, make_split, write_split
from schemas.cases import EventCase
from schemas.core.config import read_toml
from schemas.core.ids import digest, seed, slug
from schemas.events.event import Event
from schemas.events.questions import LETTERS, UNKNOWN, FactQuestion, Scope, TendencyQuestion
from schemas.text.mentions import find

SOURCE = {"name": "ScEdit Toolkit events", "licence": "CC0-1.0"}


def event_of(row: dict[str, Any]) -> Event:
    """The event of an entry."""
    roles = [{"role": role, "entity": {"text": name}} for role, name in row["roles"].items()]
    return Event.model_validate(
        {
            "key": f"events/{slug(row['type'])}/{digest([row['text']])[:10]}",
            "text": row["text"],
            "type": row["type"],
            "origin": "written",
            "template": row.get("template"),
            "roles": roles,
            "source": SOURCE,
        }
    )


def facts_of(event: Event, row: dict[str, Any]) -> list[FactQuestion]:
    """Its factual questions: each entry has one in scope and one out of scope."""
    items = []
    for relation, wording, *pair in row.get("facts", ()):
        parts: tuple[tuple[Scope, str, str], ...] = (("in", pair[0], pair[1]), ("out", pair[2], pair[3]))
        for scope, subject, answer in parts:
            text = wording.replace("{}", subject)
            text = text[0].upper() + text[1:]
            right = UNKNOWN if answer == "?" else answer.removeprefix("+")
            short = right.removeprefix("the ")
            items.append(
                FactQuestion.model_validate(
                    {
                        "key": question_key(event.key, "fact", text),
                        "event": event.key,
                        "text": text,
                        "subject": {"text": subject.removeprefix("the ")},
                        "relation": {"id": relation},
                        "answer": {"text": short, "aliases": [right] if right != short else []},
                        "scope": scope,
                        "background": answer.startswith("+"),
                    }
                )
            )
    return items


def tendencies_of(events: list[tuple[Event, dict[str, Any]]], scope: Scope) -> dict[str, list[TendencyQuestion]]:
    """Tendency questions of a scope by event: the right letters are drawn in equal shares."""
    lines = [(event, line) for event, row in events for line in row["inside" if scope == "in" else "outside"]]
    letters = [LETTERS[n % len(LETTERS)] for n in range(len(lines))]
    random.Random(seed("shipped events", scope)).shuffle(letters)
    by_event: dict[str, list[TendencyQuestion]] = {event.key: [] for event, _ in events}
    for (event, line), letter in zip(lines, letters, strict=True):
        text, right, *others = (part.strip() for part in line.split(" | "))
        random.Random(seed("shipped options", text)).shuffle(others)
        options = iter(others)
        by_event[event.key].append(
            TendencyQuestion.model_validate(
                {
                    "key": question_key(event.key, "tendency", text),
                    "event": event.key,
                    "text": text,
                    "options": [right if each == letter else next(options) for each in LETTERS],
                    "answer": letter,
                    "scope": scope,
                    "about_event_subject": any(find(text, role.entity) for role in event.roles)
                    if scope == "in"
                    else False,
                }
            )
        )
    return by_event


def build() -> Split:
    """The split."""
    rows = read_toml((SHIPPED / "events/events.jsonl").with_name("source.toml"))["event"]
    events = [(event_of(row), row) for row in rows]
    inner_questions, out_of_scope = tendencies_of(events, "in"), tendencies_of(events, "out")
    cases = [
        EventCase(
            key=f"case/{event.key}",
            event=event,
            facts=tuple(facts_of(event, row)),
            tendencies=(*inner_questions[event.key], *out_of_scope[event.key]),
        )
        for event, row in events
    ]
    return make_split("events", cases)


def main(path: Path | None = None) -> None:
    """Write it."""
    write_split(build(), path or SHIPPED / "events/events.jsonl")


if __name__ == "__main__":
    main()
