"""The naive way to the nearest subjects: every edit against every fact of its relation, one pair at a time."""

from __future__ import annotations

from collections.abc import Sequence

from construction.neighbours.near_subjects import VectorSpace
from construction.neighbours.same_object import NeighbourCandidate
from schemas.facts import Entity, Fact


def plain(name: str) -> str:
    """A name for comparison; enough for names without compatibility forms."""
    return " ".join(name.lower().split())


def told_of(name: str, relation: str, facts: Sequence[Fact]) -> str:
    """A subject's names, then what facts of other relations say of it, relation after relation."""
    about = sorted((f for f in facts if plain(f.subject.text) == name), key=lambda f: f.key)
    names = list(dict.fromkeys(n for f in about for n in f.subject.names))
    lines: dict[tuple[str, str], None] = {}
    for other in sorted({f.relation.id for f in about} - {relation}):
        lines |= dict.fromkeys((other, f"{f.fact_prompt} {f.old.text}") for f in about if f.relation.id == other)
    return ". ".join([", ".join(names), *(line for _, line in lines)])


def share_a_name(some: Sequence[Entity | None], others: Sequence[Entity | None]) -> bool:
    """Whether a name of one of them is a name of one of the others."""
    called = [{plain(name) for one in side if one is not None for name in one.names} for side in (some, others)]
    return not called[0].isdisjoint(called[1])


def nearest_one_by_one(
    edits: Sequence[Fact], table: Sequence[Fact], *, k: int, space: VectorSpace
) -> dict[str, list[NeighbourCandidate]]:
    """What ``construction.neighbours.near_subjects.nearest`` finds, by the definition and nothing else.

    A subject stands for all facts of the relation that name it first by the same name; the fact with the smallest key
    represents it. It is no neighbour where a name of it is one of the edit's subject, or an object of it one of the
    edit's objects.
    """
    everything = [*table, *edits]
    described: dict[tuple[str, str], list[Fact]] = {}
    for fact in table:
        if fact.relation.id in {edit.relation.id for edit in edits}:
            described.setdefault((fact.relation.id, plain(fact.subject.text)), []).append(fact)
    subjects = [told_of(plain(e.subject.text), e.relation.id, everything) for e in edits]
    vectors, wanted = space.vectors([told_of(name, relation, everything) for relation, name in described], subjects)
    by_edit: dict[str, list[NeighbourCandidate]] = {}
    for number, edit in enumerate(edits):
        ranked: list[tuple[float, str, Fact]] = []
        for place, facts in enumerate(described.values()):
            if facts[0].relation.id != edit.relation.id:
                continue
            first = min(facts, key=lambda f: f.key)
            objects = [f.old for f in facts] + [f.new for f in facts if f.change == "temporal"]
            if edit.key == first.key or share_a_name([f.subject for f in facts], [edit.subject]):
                continue
            if share_a_name(objects, [edit.old, edit.new]):
                continue
            cosine = float(space.cosines(wanted[number : number + 1], vectors[place : place + 1])[0, 0])
            ranked.append((round(max(0.0, 1 - cosine), 6), first.key, first))
        ranked.sort(key=lambda one: one[:2])
        by_edit[edit.key] = [
            NeighbourCandidate(fact, "near_subject", far, space.measure) for far, _, fact in ranked[:k]
        ]
    return by_edit
