"""Nearest subjects: equal to the slow reference whatever the block, no object of the edit, bounded memory."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence

import pytest

from construction.neighbours.near_subjects import (
    CharacterTfidf,
    Embeddings,
    VectorSpace,
    nearest,
    space_of,
    subject_texts,
)
from construction.neighbours.same_object import NeighbourCandidate, link, source_neighbours
from schemas.core.errors import UserError
from schemas.facts import Entity, Fact, Neighbour, Object
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
    known = [told_of(name, relation, everything) for relation, name in described]
    texts = known + [text for text in dict.fromkeys(subjects) if text not in known]
    vectors = space.vectors(texts)
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
            wanted = texts.index(subjects[number])
            cosine = float((vectors[[wanted]] @ vectors[[place]].T)[0, 0])
            ranked.append((round(max(0.0, 1 - cosine), 6), first.key, first))
        ranked.sort(key=lambda one: one[:2])
        by_edit[edit.key] = [
            NeighbourCandidate(fact, "near_subject", far, space.measure) for far, _, fact in ranked[:k]
        ]
    return by_edit


@pytest.mark.parametrize("block", [1, 300, 2_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_the_slow_twin(block, seed):
    facts = table(240, seed=seed)
    edits = edits_of(facts, 25)
    assert nearest(edits, facts, k=4, space=CharacterTfidf(), block=block) == nearest_one_by_one(
        edits, facts, k=4, space=CharacterTfidf()
    )


@pytest.mark.model
def test_equal_to_the_slow_twin_with_embeddings():
    facts = table(60)
    edits = edits_of(facts, 8)
    try:
        space = Embeddings()
    except UserError as error:
        pytest.skip(str(error))
    fast = nearest(edits, facts, k=3, space=space, block=50)
    assert fast == nearest_one_by_one(edits, facts, k=3, space=space)
    assert {d.measure for value in fast.values() for d in value} == {"cosine distance, all-MiniLM-L6-v2"}


def test_neither_object_of_the_edit_nor_its_subject():
    edit = temporal("Lake Garda", "Rome", "Oslo", key="e/1")
    edit = edit.model_copy(update={"old": Object(text="Rome", aliases=("Roma",))})
    same = make_fact("Lake Como", "ROMA", None, key="t/1", relation="P0")
    new = make_fact("Lake Iseo", "oslo", None, key="t/2", relation="P0")
    later = temporal("Lake Nemi", "Bern", "Oslo", key="t/3")  # comes to the new object in its time
    fact = make_fact("lake garda", "Bern", None, key="t/4", relation="P0")
    twice = [make_fact("Lake Orta", o, None, key=f"t/5{o}", relation="P0") for o in ("Bern", "Rome")]
    good = make_fact("Mount Etna", "Bern", None, key="t/6", relation="P0")
    other = make_fact("Lake Garda North", "Bern", None, key="t/7", relation="P9")
    alias = make_fact("Garda", "Bern", None, key="t/8", relation="P0")
    alias = alias.model_copy(update={"subject": Entity(text="Garda", aliases=("Lake Garda",))})
    draw = nearest([edit], [edit, same, new, later, fact, *twice, good, other, alias], k=9, space=CharacterTfidf())
    assert [d.fact.key for d in draw["e/1"]] == ["t/6"]


def test_the_nearest_comes_first_and_the_distance_is_kept():
    edit = temporal("Lake Garda", "Rome", "Oslo", key="e/1")
    near = make_fact("Lake Gardasee", "Bern", None, key="t/9", relation="P0")
    far = make_fact("Quux", "Bern", None, key="t/1", relation="P0")
    first, second = nearest([edit], [far, near], k=2, space=CharacterTfidf())["e/1"]
    assert (first.fact, second.fact) == (near, far) and first.distance < second.distance == 1.0
    record = link(edit, first)
    assert (record.how, record.distance, record.measure) == ("near_subject", first.distance, CharacterTfidf.measure)
    assert record.key == "e/1~t/9"


def test_equally_near_ones_stand_in_order_of_their_keys():
    edit = temporal("Aaa", "Rome", "Oslo", key="e/1")
    facts = [make_fact(f"zz {i}", "Bern", None, key=f"t/{9 - i}", relation="P0") for i in range(9)]
    draw = nearest([edit], facts, k=3, space=CharacterTfidf())["e/1"]
    assert [d.fact.key for d in draw] == ["t/1", "t/2", "t/3"]


def test_order_and_other_edits_change_nothing():
    facts = table(120)
    edits = edits_of(facts, 12)
    full_ranking = nearest(edits, facts, k=3, space=CharacterTfidf())
    permutation = random.Random(1).sample(facts, len(facts))
    assert nearest(edits[::-1], permutation, k=3, space=CharacterTfidf()) == full_ranking


def test_no_facts_no_neighbours():
    edit = temporal("Lake Garda", "Rome", "Oslo", key="e/1")
    assert nearest([edit], [], k=3, space=CharacterTfidf()) == {"e/1": []}
    assert nearest([], [edit], k=3, space=CharacterTfidf()) == {}


def test_other_facts_of_a_subject_make_it_near():
    def about(subject: str, trade: str) -> list[Fact]:
        fact = make_fact(subject, trade, None, key=f"t/{subject}/trade", relation="P106", prompt="{} works as")
        return [make_fact(subject, f"Home {subject}", None, key=f"t/{subject}", relation="P0"), fact]

    edit = temporal("Xyz", "Rome", "Oslo", key="e/1")
    trade = make_fact("Xyz", "glass blower", None, key="t/x", relation="P106", prompt="{} works as")
    facts = [trade, *about("Abc", "mathematician"), *about("Def", "glass blower")]
    assert nearest([edit], facts, k=1, space=CharacterTfidf())["e/1"][0].fact.subject.text == "Def"
    assert "Rome" not in subject_texts([edit, *facts])["P0", "xyz"]  # what the edit is about is not compared


def test_neighbours_that_came_with_the_facts():
    edit = temporal("Lake Garda", "Rome", "Oslo", key="e/1")
    facts = [make_fact(f"S {i}", "Bern", None, key=f"n/{i}", relation="P0") for i in range(3)]
    links = [
        Neighbour(key=f"e/1~n/{i}", edit="e/1", fact=f"n/{i}", how="near_subject", distance=1.0 - i / 4, measure="m")
        for i in range(3)
    ]
    neighbour = Neighbour(key="e/1~n/7", edit="e/1", fact="n/7", how="near_subject")
    assert source_neighbours([edit], [*facts, neighbour, *links], k=2) == {
        "e/1": [
            NeighbourCandidate(facts[2], "near_subject", 0.5, "m"),
            NeighbourCandidate(facts[1], "near_subject", 0.75, "m"),
        ]
    }
    assert link(edit, source_neighbours([edit], [*facts, *links], k=1)["e/1"][0]) == links[2]


def test_memory_is_that_of_a_block():
    facts = table(3000, relations=1)
    edits = edits_of(facts, 3000)
    nearest(edits[:1], facts[:3], k=1, space=CharacterTfidf())  # what it imports is not counted
    tracemalloc.start()
    nearest(edits, facts, k=2, space=CharacterTfidf(), block=60_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 8 / 2  # all similarities at once would be 72 MB


def test_an_unknown_model_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="cannot be loaded") as error:
        space_of(str(tmp_path / "no-such-model"))
    assert "tfidf, embeddings, source" in str(error.value)
