from __future__ import annotations

import random
import time

from construction.neighbours.same_object import draw_same_object, link, norm
from curation.loaders import load
from schemas.core.ids import seed
from schemas.facts import Entity, Object
from tests.support.facts import make_fact

TABLE = [make_fact(f"Town {i}", "LIMA" if i % 2 else "Lima ".strip(), "Oslo", key=f"t/{i}") for i in range(20)]
TABLE += [make_fact("Elsewhere", "Rome"), make_fact("Other relation", "Lima", relation="P17")]
EDIT = make_fact("Peru", "lima", "Oslo")


def test_same_relation_and_object_other_subject():
    twin = make_fact("PERU", "Lima", "Rome", key="f/twin")
    (chosen,) = draw_same_object([EDIT], [EDIT, twin, *TABLE], k=50).values()
    assert {f.key for f in chosen} == {f"t/{i}" for i in range(20)}


def test_draw_depends_on_neither_order_nor_other_edits():
    shuffled = random.Random(1).sample(TABLE, len(TABLE))
    alone = draw_same_object([EDIT], TABLE, k=3)["f/Peru"]
    assert draw_same_object([TABLE[3], EDIT], shuffled, k=3)["f/Peru"] == alone
    assert len({f.key for f in alone}) == 3
    others = {
        tuple(f.key for f in draw_same_object([make_fact("Peru", "lima", key=f"e/{i}")], TABLE, k=3)[f"e/{i}"])
        for i in range(20)
    }
    assert len(others) > 10


def test_fewer_where_the_table_holds_fewer():
    assert draw_same_object([make_fact("Chile", "Rome")], TABLE, k=5)["f/Chile"] == [TABLE[20]]
    assert draw_same_object([make_fact("Chile", "Quito")], TABLE, k=5) == {"f/Chile": []}


def test_own_subject_drawn_costs_no_neighbour():
    for i in range(20):
        assert len(draw_same_object([TABLE[i]], TABLE, k=4)[f"t/{i}"]) == 4


def test_link_key():
    record = link(EDIT, TABLE[0])
    assert (record.key, record.how) == ("f/Peru~t/0", "same_object")


def test_many_facts_are_quick():
    facts = [make_fact(f"Town {i}", f"City {i % 40}", "Oslo", key=f"t/{i}") for i in range(4000)]
    start = time.perf_counter()
    drawn = draw_same_object(facts, facts, k=5)
    assert all(len(v) == 5 for v in drawn.values()) and time.perf_counter() - start < 2.0


def slowly(edit, table, k):
    """The twin of the indexed draw: the whole table is looked through for one edit, then the same draw."""
    group: dict[str, object] = {}
    said: dict[str, set[str]] = {}
    for fact in sorted(table, key=lambda f: f.key):
        if fact.relation.id != edit.relation.id:
            continue
        said.setdefault(norm(fact.subject.text), set()).update(map(norm, fact.old.names))
        if norm(fact.old.text) == norm(edit.old.text):
            group.setdefault(norm(fact.subject.text), fact)
    members = list(group.values())
    rng = random.Random(seed("neighbours", edit.key))
    chosen = rng.sample(members, min(len(members), k + 1))
    rest = [m for m in members if m not in chosen]
    if sum(fits(m, edit, said) for m in chosen) < k:
        rng.shuffle(rest)
        chosen += rest
    return [m for m in chosen if fits(m, edit, said)][:k]


def fits(member, edit, said):
    own, new = set(map(norm, edit.subject.names)), set(map(norm, edit.new.names))
    return not (
        member.key == edit.key or own & set(map(norm, member.subject.names)) or new & said[norm(member.subject.text)]
    )


def test_the_index_equals_looking_through_the_whole_table():
    rng = random.Random(3)
    table = [
        make_fact(f"Town {rng.randrange(60)}", f"City {rng.randrange(6)}", "Oslo", key=f"t/{i}", relation=f"P{i % 2}")
        for i in range(300)
    ]
    edits = [
        f.model_copy(update={"new": Object(text=f"City {rng.randrange(6)}x"[: rng.choice((6, 7))])}) for f in table
    ]
    edits = [e for e in edits if e.new.text != e.old.text]
    for k in (4, 18):
        drawn = draw_same_object(edits, table, k=k)
        assert drawn == {e.key: slowly(e, table, k) for e in edits}
    assert any(len(v) == k for v in drawn.values()) and any(len(v) < k for v in drawn.values())


def test_a_subject_under_another_name_is_no_neighbour():
    usa = make_fact("United States", "English", "Thai", relation="P37")
    usa = usa.model_copy(update={"subject": Entity(text="United States", aliases=("America",))})
    assert draw_same_object([usa], [usa, make_fact("America", "English", relation="P37")], k=3)[usa.key] == []


def test_a_subject_that_also_has_the_new_object_is_no_neighbour():
    swiss = [make_fact("Switzerland", o, None, key=f"t/{o}", relation="P37") for o in ("German", "French")]
    austria = make_fact("Austria", "German", None, key="t/austria", relation="P37")
    edit = make_fact("Germany", "German", "French", relation="P37")
    assert draw_same_object([edit], [*swiss, austria], k=3)[edit.key] == [austria]


def test_every_counterfact_edit_gets_what_there_is(shared):
    paths = sorted((shared / "data/counterfact").glob("counterfact-val.json"))
    facts = [f for path in paths for f in load(str(path)).facts]
    drawn = draw_same_object(facts, facts, k=5)
    assert len(drawn) == len(facts) == 1908
    for edit in facts[::40]:
        assert drawn[edit.key] == slowly(edit, facts, 5)
        assert {f.old.text for f in drawn[edit.key]} <= {edit.old.text}
