"""Neighbour facts: same relation, same old object, another subject; an edit must not move them (ScEdit §3.1, Eq. 3)."""

from __future__ import annotations

import random
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

from schemas.facts import Fact, Neighbour
from schemas.ids import seed


def norm(text: str) -> str:
    """A name for comparison: compatibility forms, case and spacing aside.

    Example:
        >>> norm("  São  PAULO")
        'são paulo'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def draw(edits: Iterable[Fact], table: Sequence[Fact], *, k: int) -> dict[str, list[Fact]]:
    """Up to ``k`` neighbour facts for each edit, drawn from a table of facts.

    The draw depends on the edit's key and on which facts are eligible, not on their order or on other edits.

    Args:
        edits: Facts that are edited.
        table: All facts known; the edits may be among them.
        k: Neighbours an edit; fewer where the table holds fewer.

    Returns:
        Neighbour facts by key of the edit, with an entry for every edit.
    """
    groups: dict[tuple[str, str], dict[str, Fact]] = defaultdict(dict)
    for fact in sorted(table, key=lambda f: f.key):
        groups[fact.relation.id, norm(fact.old.text)].setdefault(norm(fact.subject.text), fact)
    members = {name: list(group.items()) for name, group in groups.items()}
    drawn: dict[str, list[Fact]] = {}
    for edit in edits:
        own = norm(edit.subject.text)
        group = members.get((edit.relation.id, norm(edit.old.text)), [])
        rng = random.Random(seed("neighbours", edit.key))
        chosen = rng.sample(group, min(len(group), k + 1))  # one more, in case the edit's own subject is drawn
        drawn[edit.key] = [fact for subject, fact in chosen if subject != own and fact.key != edit.key][:k]
    return drawn


def link(edit: Fact, neighbour: Fact) -> Neighbour:
    """The record that says: editing ``edit`` must not move ``neighbour``."""
    return Neighbour(key=f"{edit.key}~{neighbour.key}", edit=edit.key, fact=neighbour.key, how="same_object")
