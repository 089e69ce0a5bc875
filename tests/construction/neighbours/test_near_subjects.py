"""Nearest subjects: equal to the slow twin whatever the block, no object of the edit, bounded memory."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from construction.neighbours.near_subjects import nearest, nearest_slowly, subject_texts
from construction.neighbours.same_object import NeighbourCandidate, link, source_neighbours
from construction.neighbours.vectors import CharacterTfidf, Embeddings, space_of
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
    return [
        temporal(f.subject.text, f.old.text, f"Object {(i + 3) % 7} new" if i % 2 else f"Object {i % 7}x",
                 key=f"e/{i}", relation=f.relation.id)
        for i, f in enumerate(facts[:n])
    ]  # fmt: skip


@pytest.mark.parametrize("block", [1, 300, 2_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_the_slow_twin(block, seed):
    facts = table(240, seed=seed)
    edits = edits_of(facts, 25)
    assert nearest(edits, facts, k=4, space=CharacterTfidf(), block=block) == nearest_slowly(
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
    assert fast == nearest_slowly(edits, facts, k=3, space=space)
    assert {d.measure for found in fast.values() for d in found} == {"cosine distance, all-MiniLM-L6-v2"}


def test_neither_object_of_the_edit_nor_its_subject():
    edit = temporal("Lake Garda", "Rome", "Oslo", key="e/1")
    edit = edit.model_copy(update={"old": Object(text="Rome", aliases=("Roma",))})
    same = make_fact("Lake Como", "ROMA", None, key="t/1", relation="P0")
    new = make_fact("Lake Iseo", "oslo", None, key="t/2", relation="P0")
    later = temporal("Lake Nemi", "Bern", "Oslo", key="t/3")  # comes to the new object in its time
    own = make_fact("lake garda", "Bern", None, key="t/4", relation="P0")
    twice = [make_fact("Lake Orta", o, None, key=f"t/5{o}", relation="P0") for o in ("Bern", "Rome")]
    good = make_fact("Mount Etna", "Bern", None, key="t/6", relation="P0")
    other = make_fact("Lake Garda North", "Bern", None, key="t/7", relation="P9")
    alias = make_fact("Garda", "Bern", None, key="t/8", relation="P0")
    alias = alias.model_copy(update={"subject": Entity(text="Garda", aliases=("Lake Garda",))})
    drawn = nearest([edit], [edit, same, new, later, own, *twice, good, other, alias], k=9, space=CharacterTfidf())
    assert [d.fact.key for d in drawn["e/1"]] == ["t/6"]


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
    drawn = nearest([edit], facts, k=3, space=CharacterTfidf())["e/1"]
    assert [d.fact.key for d in drawn] == ["t/1", "t/2", "t/3"]


def test_order_and_other_edits_change_nothing():
    facts = table(120)
    edits = edits_of(facts, 12)
    whole = nearest(edits, facts, k=3, space=CharacterTfidf())
    shuffled = random.Random(1).sample(facts, len(facts))
    assert nearest(edits[::-1], shuffled, k=3, space=CharacterTfidf()) == whole


def test_no_facts_no_neighbours():
    edit = temporal("Lake Garda", "Rome", "Oslo", key="e/1")
    assert nearest([edit], [], k=3, space=CharacterTfidf()) == {"e/1": []}
    assert nearest([], [edit], k=3, space=CharacterTfidf()) == {}


def test_other_facts_of_a_subject_make_it_near():
    def about(subject: str, trade: str) -> list[Fact]:
        told = make_fact(subject, trade, None, key=f"t/{subject}/trade", relation="P106", prompt="{} works as")
        return [make_fact(subject, f"Home {subject}", None, key=f"t/{subject}", relation="P0"), told]

    edit = temporal("Xyz", "Rome", "Oslo", key="e/1")
    trade = make_fact("Xyz", "glass blower", None, key="t/x", relation="P106", prompt="{} works as")
    facts = [trade, *about("Abc", "mathematician"), *about("Def", "glass blower")]
    assert nearest([edit], facts, k=1, space=CharacterTfidf())["e/1"][0].fact.subject.text == "Def"
    assert "Rome" not in subject_texts([edit, *facts])["P0", "xyz"]  # what the edit is about is not compared


def test_memory_is_that_of_a_block():
    facts = table(3000, relations=1)
    edits = edits_of(facts, 3000)
    tracemalloc.start()
    nearest(edits, facts, k=2, space=CharacterTfidf(), block=60_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 8 / 2  # all similarities at once would be 72 MB


def test_an_unknown_model_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="cannot be loaded") as error:
        space_of(str(tmp_path / "no-such-model"))
    assert "tfidf, embeddings, source" in str(error.value)


def test_neighbours_that_came_with_the_facts():
    edit = temporal("Lake Garda", "Rome", "Oslo", key="e/1")
    facts = [make_fact(f"S {i}", "Bern", None, key=f"n/{i}", relation="P0") for i in range(3)]
    links = [
        Neighbour(key=f"e/1~n/{i}", edit="e/1", fact=f"n/{i}", how="near_subject", distance=1.0 - i / 4, measure="m")
        for i in range(3)
    ]
    gone = Neighbour(key="e/1~n/7", edit="e/1", fact="n/7", how="near_subject")
    assert source_neighbours([edit], [*facts, gone, *links], k=2) == {
        "e/1": [
            NeighbourCandidate(facts[2], "near_subject", 0.5, "m"),
            NeighbourCandidate(facts[1], "near_subject", 0.75, "m"),
        ]
    }
    assert link(edit, source_neighbours([edit], [*facts, *links], k=1)["e/1"][0]) == links[2]
