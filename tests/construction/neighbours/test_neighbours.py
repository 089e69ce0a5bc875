"""Nearest subjects: equal to the slow reference whatever the block, no object of the edit, bounded memory."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import pytest

from construction.neighbours import same_object
from construction.neighbours.near_subjects import (
    CharacterTfidf,
    Embeddings,
    VectorSpace,
    nearest,
    space_of,
    subject_texts,
)
from construction.neighbours.own_prompts import PromptTemplates, own_neighbours
from construction.neighbours.same_object import NeighbourCandidate, draw_same_object, link, source_neighbours
from construction.pipeline.plan import ConstructionPlan, plan_work
from curation.loaders import load
from schemas.core.errors import UserError
from schemas.facts import Entity, Fact, Neighbour, Object
from tests.support.facts import make_fact

TABLE = [make_fact(f"Town {i}", "LIMA" if i % 2 else "Lima ".strip(), "Oslo", key=f"t/{i}") for i in range(20)]
TABLE += [make_fact("Elsewhere", "Rome"), make_fact("Other relation", "Lima", relation="P17")]
EDIT = make_fact("Peru", "lima", "Oslo")


def test_same_relation_and_object_other_subject():
    twin = make_fact("PERU", "Lima", "Rome", key="f/twin")
    (facts,) = draw_same_object([EDIT], [EDIT, twin, *TABLE], k=50).values()
    assert {f.key for f in facts} == {f"t/{i}" for i in range(20)}


def test_draw_depends_on_neither_order_nor_other_edits():
    permutation = random.Random(1).sample(TABLE, len(TABLE))
    fact = draw_same_object([EDIT], TABLE, k=3)["f/Peru"]
    assert draw_same_object([TABLE[3], EDIT], permutation, k=3)["f/Peru"] == fact
    assert len({f.key for f in fact}) == 3
    others = {
        tuple(f.key for f in draw_same_object([make_fact("Peru", "lima", key=f"e/{i}")], TABLE, k=3)[f"e/{i}"])
        for i in range(20)
    }
    assert len(others) > 10


def test_a_draw_looks_at_what_it_draws_whatever_the_size_of_the_table(monkeypatch):
    views, fits = [], same_object.SubjectRow.fits
    monkeypatch.setattr(same_object.SubjectRow, "fits", lambda member, *more: views.append(1) or fits(member, *more))
    facts = [make_fact(f"Town {i}", f"City {i % 40}", "Oslo", key=f"t/{i}") for i in range(4000)]
    assert all(len(v) == 5 for v in draw_same_object(facts, facts, k=5).values())
    assert len(views) <= 6 * 4000, "not at the hundred facts of each object"


def folded_names(entity):
    """All names of an entity for comparison; the tests' names are Latin letters."""
    return {" ".join(name.lower().split()) for name in (entity.text, *entity.aliases)}


def eligible(edit, table):
    """Keys of all facts that could be drawn for an edit, by looking through the whole table."""
    subjects = {}
    for fact in table:
        if fact.relation.id == edit.relation.id:
            subjects.setdefault(fact.subject.text.lower(), []).append(fact)
    keys = []
    for facts in subjects.values():
        fitting = [f for f in facts if f.old.text.lower().split() == edit.old.text.lower().split()]
        first = min(fitting, key=lambda f: f.key, default=edit)
        if not (
            first.key == edit.key
            or folded_names(edit.subject) & folded_names(first.subject)
            or any(folded_names(edit.new) & folded_names(f.old) for f in facts)
        ):
            keys.append(first.key)
    return keys


def check_draw(draw, edit, table, k):
    """As many as there are, at most k, none twice, all of them eligible."""
    keys, could = [fact.key for fact in draw], eligible(edit, table)
    assert len(keys) == len(set(keys)) == min(k, len(could)) and set(keys) <= set(could)


def test_the_index_finds_what_looking_through_the_whole_table_finds():
    rng = random.Random(3)
    table = [
        make_fact(f"Town {rng.randrange(60)}", f"City {rng.randrange(6)}", "Oslo", key=f"t/{i}", relation=f"P{i % 2}")
        for i in range(120)
    ]
    edits = [
        f.model_copy(update={"new": Object(text=f"City {rng.randrange(6)}x"[: rng.choice((6, 7))])}) for f in table
    ]
    edits = [e for e in edits if e.new.text != e.old.text][::3]
    for k in (4, 12):
        facts = draw_same_object(edits, table, k=k)
        for edit in edits:
            check_draw(facts[edit.key], edit, table, k)
    assert any(len(v) == k for v in facts.values()) and any(len(v) < k for v in facts.values())


def test_every_eligible_fact_is_drawn_equally_often():
    """3 of 18 for 2,000 edits: 333 times each; six standard deviations are 100."""
    variant = make_fact("Town 0", "Oslo", None, key="t/moved")
    edits = [make_fact("Town 1", "lima", "Oslo", key=f"e/{i}") for i in range(2000)]
    draw = draw_same_object(edits, [*TABLE, variant], k=3)
    often = Counter(fact.key for facts in draw.values() for fact in facts)
    assert set(often) == {f"t/{i}" for i in range(2, 20)}
    assert all(abs(n - 6000 / 18) < 100 for n in often.values())


def test_draws_are_those_of_earlier_versions():
    """Another draw would change every split that is made again."""
    draw = draw_same_object([EDIT, make_fact("Town 3", "Lima", "Rome", key="t/3")], TABLE, k=4)
    assert {key: [fact.key for fact in facts] for key, facts in draw.items()} == {
        "f/Peru": ["t/10", "t/1", "t/4", "t/13"],
        "t/3": ["t/8", "t/12", "t/10", "t/16"],
    }


def test_a_subject_under_another_name_is_no_neighbour():
    usa = make_fact("United States", "English", "Thai", relation="P37")
    usa = usa.model_copy(update={"subject": Entity(text="United States", aliases=("America",))})
    assert draw_same_object([usa], [usa, make_fact("America", "English", relation="P37")], k=3)[usa.key] == []


# Nearest subjects: equal to the slow reference whatever the block, no object of the edit, bounded memory.
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


@pytest.mark.parametrize(("seed", "block"), [(0, 1), (1, 300), (2, 2_000_000)])
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


# Neighbourhood prompts as neighbours: the right subject, never the edit's own, never one that has the new object.
def speaks(subject, old="French", new=None, *, prompt="The mother tongue of {} is", near=(), relation="P103"):
    return make_fact(subject, old, new, prompt=prompt, relation=relation, neighbour_prompts=near)


TONGUES = [
    speaks("Ann Ames", "English"),
    speaks("Bob Bain", "Dutch", prompt="The native language of {} is"),
    speaks("Col Case", "Dutch", prompt="{} speaks the language"),
    speaks("Dora", "Dutch", prompt="The native language of the poet {} is"),
    make_fact("Dan", "Paris", None, prompt="{} is", relation="P19"),
]

SENTENCES = {
    "another template of the relation": ("The native language of Montesquieu is", "Montesquieu"),
    "the gap in front": ("Léon Blum speaks the language", "Léon Blum"),
    "the longer template first": ("The native language of the poet Racine is", "Racine"),
    "a subject with a regular expression in it": ("The mother tongue of A. (B+) [c] is", "A. (B+) [c]"),
    "no template of anybody": ("Montesquieu was fluent in", None),
    "a template that is too short to mean anything": ("Everything is", None),
    "no subject": ("The mother tongue of  is", None),
    "far too long for a name": (f"The mother tongue of {'x ' * 13}is", None),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_subject_of_a_sentence(name):
    text, subject = SENTENCES[name]
    result = PromptTemplates(TONGUES).subject_of(text, "P103")
    assert (result[1] if result else None) == subject
    assert result is None or result[0].replace("{}", subject) == text.strip()


def test_relations_that_are_named_by_their_template_look_through_all():
    flat = [
        speaks("Ann", relation="the-mother-tongue-of"),
        speaks("Bob", prompt="The native language of {} is", relation="x"),
    ]
    subject = PromptTemplates(flat).subject_of("The native language of Blum is", "the-mother-tongue-of")
    assert subject == ("The native language of {} is", "Blum")


NEAR = tuple(f"The native language of {name} is" for name in ("Blum", "Racine", "BLUM", "Ed Eve", "Montesquieu"))
TONGUE = speaks("Ed Eve", "French", "Dutch", near=NEAR)


def test_each_subject_once_the_edit_s_own_and_those_with_the_new_object_left_out():
    table = [*TONGUES, TONGUE, speaks("Racine", "Dutch")]
    fact = own_neighbours([TONGUE], table, k={TONGUE.key: 9})[TONGUE.key]
    assert sorted(f.subject.text for f in fact) == ["Blum", "Montesquieu"]
    assert {(f.old.text, f.new, f.change, f.relation.id) for f in fact} == {("French", None, "none", "P103")}
    assert all(f.fact_prompt in NEAR for f in fact)


def test_the_draw_hangs_on_the_edit_alone_and_one_fact_serves_two_edits():
    other = speaks("Flo", "French", "Thai", near=NEAR)
    one = own_neighbours([TONGUE], TONGUES, k={TONGUE.key: 2})[TONGUE.key]
    both = own_neighbours([other, TONGUE], [*reversed(TONGUES), other], k={TONGUE.key: 2, other.key: 3})
    assert both[TONGUE.key] == one and len(one) == 2
    keys = {f.key: f for f in (*one, *both[other.key])}
    assert len({f.subject.text for f in keys.values()}) == len(keys)


def test_they_fill_up_what_the_table_lacks_and_change_no_draw_that_was_full():
    twin = speaks("Gil", "French")
    plan = ConstructionPlan(neighbours=2)
    lacking = plan_work([TONGUE], [TONGUE, *TONGUES, twin], plan)
    keys = [d.fact.key for d in lacking.drawn[TONGUE.key]]
    assert keys[0] == twin.key and len(keys) == 2 and keys[1].startswith("near/")
    assert {d.how for d in lacking.drawn[TONGUE.key]} == {"same_object"}
    full = plan_work([TONGUE], [TONGUE, *TONGUES, twin, speaks("Hal", "French")], plan)
    assert not any(d.fact.key.startswith("near/") for d in full.drawn[TONGUE.key])
    assert [f.key for f in lacking.others] == sorted(keys)


def test_a_subject_that_the_table_drew_already_is_not_drawn_twice():
    plan = ConstructionPlan(neighbours=3)
    work = plan_work([TONGUE], [TONGUE, *TONGUES, speaks("Blum", "French")], plan)
    subjects = [d.fact.subject.text for d in work.drawn[TONGUE.key]]
    assert len(subjects) == len(set(subjects)) == 3 and subjects.count("Blum") == 1


def test_a_temporal_edit_takes_nearest_subjects():
    temporal = TONGUE.model_copy(update={"change": "temporal"})
    near = plan_work([temporal], [temporal, *TONGUES], ConstructionPlan(neighbours=9)).drawn[TONGUE.key]
    assert near and not any(d.fact.key.startswith("near/") for d in near)


def test_most_edits_of_counterfact_have_neighbours(grouped):
    """401 of 564 edits found nobody else in the table with their object."""
    start = time.process_time()
    facts = load(str(grouped)).facts
    edits = [f for f in facts if f.new is not None][:564]
    plain = [f.model_copy(update={"neighbour_prompts": ()}) for f in edits]
    before = plan_work(plain, plain, ConstructionPlan())
    after = plan_work(edits, edits, ConstructionPlan())
    lonely = [sum(not value for value in work.drawn.values()) for work in (before, after)]
    assert lonely[1] < lonely[0] / 2, lonely
    for key, value in before.drawn.items():
        assert [d.fact.key for d in after.drawn[key]][: len(value)] == [d.fact.key for d in value]
    assert time.process_time() - start < 60
