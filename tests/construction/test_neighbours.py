from __future__ import annotations

import random
import time

from made_facts import make_fact

from construction.neighbours import draw, link

TABLE = [make_fact(f"Town {i}", "LIMA" if i % 2 else "Lima ".strip(), "Oslo", key=f"t/{i}") for i in range(20)]
TABLE += [make_fact("Elsewhere", "Rome"), make_fact("Other relation", "Lima", relation="P17")]
EDIT = make_fact("Peru", "lima", "Oslo")


def test_same_relation_and_object_other_subject():
    twin = make_fact("PERU", "Lima", "Rome", key="f/twin")
    (chosen,) = draw([EDIT], [EDIT, twin, *TABLE], k=50).values()
    assert {f.key for f in chosen} == {f"t/{i}" for i in range(20)}


def test_draw_depends_on_neither_order_nor_other_edits():
    shuffled = random.Random(1).sample(TABLE, len(TABLE))
    alone = draw([EDIT], TABLE, k=3)["f/Peru"]
    assert draw([TABLE[3], EDIT], shuffled, k=3)["f/Peru"] == alone
    assert len({f.key for f in alone}) == 3
    others = {
        tuple(f.key for f in draw([make_fact("Peru", "lima", key=f"e/{i}")], TABLE, k=3)[f"e/{i}"]) for i in range(20)
    }
    assert len(others) > 10


def test_fewer_where_the_table_holds_fewer():
    assert draw([make_fact("Chile", "Rome")], TABLE, k=5)["f/Chile"] == [TABLE[20]]
    assert draw([make_fact("Chile", "Quito")], TABLE, k=5) == {"f/Chile": []}


def test_own_subject_drawn_costs_no_neighbour():
    for i in range(20):
        assert len(draw([TABLE[i]], TABLE, k=4)[f"t/{i}"]) == 4


def test_link_key():
    record = link(EDIT, TABLE[0])
    assert (record.key, record.how) == ("f/Peru~t/0", "same_object")


def test_many_facts_are_quick():
    facts = [make_fact(f"Town {i}", f"City {i % 40}", "Oslo", key=f"t/{i}") for i in range(4000)]
    start = time.perf_counter()
    drawn = draw(facts, facts, k=5)
    assert all(len(v) == 5 for v in drawn.values()) and time.perf_counter() - start < 2.0
