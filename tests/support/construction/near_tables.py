"""Tables of facts of subjects that are alike."""

from __future__ import annotations

import random

from schemas.facts import Fact
from tests.support.facts import make_fact

WORDS = ("lake", "north", "river", "castle", "bridge", "tower", "saint", "upper", "garden", "old")


def table(n: int, *, relations: int = 3, objects: int = 7, seed: int = 0) -> list[Fact]:
    rng = random.Random(seed)
    return [
        make_fact(
            " ".join(rng.choices(WORDS, k=2)) + f" {rng.randrange(n // 2)}",
            f"Object {rng.randrange(objects)}",
            None,
            key=f"t/{i:04d}",
            relation=f"P{rng.randrange(relations)}",
        )
        for i in range(n)
    ]


def temporal(subject: str, old: str, new: str, *, key: str, relation: str = "P0") -> Fact:
    return make_fact(subject, old, new, key=key, relation=relation).model_copy(update={"change": "temporal"})


def edits_of(facts: list[Fact], n: int) -> list[Fact]:
    """Edits of the first facts; every second one to an object that other facts of the table have."""
    edits = []
    for i, fact in enumerate(facts[:n]):
        number = int(fact.old.text.split()[1])
        new = f"Object {(number + 1 + i % 6) % 7}" if i % 2 else f"Object {number}x"
        edits.append(temporal(fact.subject.text, fact.old.text, new, key=f"e/{i}", relation=fact.relation.id))
    return edits
