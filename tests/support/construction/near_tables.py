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
    return [
        temporal(f.subject.text, f.old.text, f"Object {(i + 3) % 7} new" if i % 2 else f"Object {i % 7}x",
                 key=f"e/{i}", relation=f.relation.id)
        for i, f in enumerate(facts[:n])
    ]  # fmt: skip
