"""Facts for tests: one maker, any field of which can be replaced."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from schemas.facts import Entity, Fact, Object, Relation, Source

SOURCE = Source(name="tests", licence="CC0-1.0")


def make_fact(
    subject: str | Entity = "Peru",
    old: str | Object = "Lima",
    new: str | Object | None = "Oslo",
    *,
    key: str | None = None,
    relation: str | Relation = "P36",
    aliases: tuple[str, ...] = (),
    new_aliases: tuple[str, ...] = (),
    **changes: Any,
) -> Fact:
    """A fact of three texts with other names of its objects, and any field replaced; without a new object, no edit."""
    entity = Entity(text=subject) if isinstance(subject, str) else subject
    fields: dict[str, Any] = {
        "key": key or f"f/{entity.text.replace(' ', '-')}",
        "subject": entity,
        "relation": Relation(id=relation) if isinstance(relation, str) else relation,
        "prompt": "The capital of {} is",
        "old": Object(text=old, aliases=aliases) if isinstance(old, str) else old,
        "new": Object(text=new, aliases=new_aliases) if isinstance(new, str) else new,
        "change": "none" if new is None else "counterfactual",
        "source": SOURCE,
    }
    return Fact.model_validate({**fields, **changes})


def peru_fact(key: str = "f/peru", **changes: Any) -> Fact:
    """Peru's capital as a labelled relation with a paraphrase, and any field replaced."""
    fields = {"relation": Relation(id="P36", label="capital"), "paraphrases": ("The capital city of Peru is",)}
    return make_fact(key=key, **{**fields, **changes})


def write_facts(path: Path, facts: Iterable[Fact]) -> Path:
    """A file of facts."""
    path.write_text("".join(f"{fact.model_dump_json()}\n" for fact in facts), encoding="utf-8")
    return path
