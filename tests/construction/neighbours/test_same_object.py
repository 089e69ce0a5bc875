from __future__ import annotations

import random
from collections import Counter

from construction.neighbours import same_object
from construction.neighbours.same_object import draw_same_object
from schemas.facts import Entity, Object
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


def plain(entity):
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
            or plain(edit.subject) & plain(first.subject)
            or any(plain(edit.new) & plain(f.old) for f in facts)
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


def test_a_subject_that_also_has_the_new_object_is_no_neighbour():
    swiss = [make_fact("Switzerland", o, None, key=f"t/{o}", relation="P37") for o in ("German", "French")]
    austria = make_fact("Austria", "German", None, key="t/austria", relation="P37")
    edit = make_fact("Germany", "German", "French", relation="P37")
    assert draw_same_object([edit], [*swiss, austria], k=3)[edit.key] == [austria]
