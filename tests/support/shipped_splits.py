"""Make a shipped split of its source: ``python -m tests.support.shipped_splits events`` (or documents, or hops)."""

from __future__ import annotations

import hashlib
import random
import sys
from pathlib import Path
from typing import Any

from construction.documents.hops import read_hops
from curation.loaders.formats.elken import question_key
from curation.shipped import SHIPPED
from curation.splits.split_file import Split, make_split, write_split
from schemas.cases import DocumentCase, EventCase
from schemas.core.config import read_toml
from schemas.core.ids import digest, seed, slug
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import LETTERS, UNKNOWN, FactQuestion, Scope, TendencyQuestion
from schemas.facts import Source
from schemas.text.mentions import find


def source_of(name: str) -> dict[str, str]:
    """Where the records of a split come from."""
    return {"name": f"ScEdit Toolkit {name}", "licence": "CC0-1.0"}


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
            "source": source_of("events"),
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


def case_of(row: dict[str, Any]) -> DocumentCase:
    """The document of an entry, with its probes."""
    key = f"documents/{slug(row['entity'])}"
    document = Document.model_validate(
        {
            "key": key,
            "text": row["text"],
            "entity": row["entity"],
            "source": {**source_of("documents"), "item": "invented" if row.get("invented") else "changed"},
        }
    )
    probes = []
    for number, (level, query, answers, *tags) in enumerate(row["probes"], 1):
        answer, *accepted = (part.strip() for part in answers.split("|"))
        probes.append(
            DocumentProbe.model_validate(
                {
                    "key": f"{key}/{number}",
                    "document": key,
                    "query": query,
                    "answer": answer,
                    "accepted": tuple(accepted),
                    "level": level,
                    "tags": tuple(tags[0].split()) if tags else (),
                }
            )
        )
    return DocumentCase(key=f"case/{key}", document=document, probes=tuple(probes))


def events() -> Split:
    """An event and its questions a case."""
    rows = read_toml(SHIPPED / "events/source.toml")["event"]
    pairs = [(event_of(row), row) for row in rows]
    inner_questions, out_of_scope = tendencies_of(pairs, "in"), tendencies_of(pairs, "out")
    cases = [
        EventCase(
            key=f"case/{event.key}",
            event=event,
            facts=tuple(facts_of(event, row)),
            tendencies=(*inner_questions[event.key], *out_of_scope[event.key]),
        )
        for event, row in pairs
    ]
    return make_split("events", cases)


def documents() -> Split:
    """A document and its probes a case."""
    rows = read_toml(SHIPPED / "documents/source.toml")["document"]
    return make_split("documents", [case_of(row) for row in rows])


HOPS_VERSION = "2.0.0"
"""A question of one case changed ("honey bees" named their honey)."""


def hops(path: Path = SHIPPED / "hops/source.toml") -> Split:
    """An edit whose consequence is asked for a case."""
    return make_split("hops", read_hops(path, "hops", Source(**source_of("hops"))), version=HOPS_VERSION)


BUILDERS = {"events": events, "documents": documents, "hops": hops}


def main(name: str, folder: Path | None = None) -> None:
    """Write a split, and the list with its SHA-256 where the shipped one has such a list."""
    path = (folder or SHIPPED / name) / f"{name}.jsonl"
    write_split(BUILDERS[name](), path)
    if (SHIPPED / name / "checksums.sha256").is_file():
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        path.with_name("checksums.sha256").write_text(f"{sha256}  {path.name}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
