"""Reading a store: by key, id or the beginning of an id; splits, results, counts, everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.splits.split_file import make_split
from curation.store import writer
from curation.store.import_sources import ImportSource
from curation.store.store import Store
from schemas.cases import Case
from schemas.core.errors import DataError, StoreError, UserError
from schemas.extras import Extra
from schemas.facts import Fact, Object, Relation
from schemas.lineage import Lineage
from tests.support.curation.rule_records import CHAINS, EDIT, OTHER, P0, said
from tests.support.facts import make_fact, peru_fact


def test_unknown_items_suggest_the_nearest(store: Store) -> None:
    store.put([peru_fact("facts/cf/P36/peru")])
    with pytest.raises(UserError, match="no item 'facts/cf/P36/per'.*did you mean 'facts/cf/P36/peru'"):
        store.get("facts/cf/P36/per")


def test_an_item_by_key_before_an_id_of_the_same_spelling(store: Store) -> None:
    fact = peru_fact()
    copy = peru_fact(fact.id)  # its key is spelt like the other one's id
    store.put([fact, copy])
    assert store.get(fact.id) == copy and store.get("f/peru") == fact
    assert store.get(copy.id[:10]) == copy


def test_a_beginning_that_several_share_or_that_is_too_short(store: Store) -> None:
    facts = [peru_fact(f"f/{n}") for n in range(3000)]
    starts: dict[str, str] = {}
    one, two = next((starts[f.id[:3]], f.id) for f in facts if starts.setdefault(f.id[:3], f.id) != f.id)
    store.put(facts)
    with pytest.raises(UserError, match=f"no item '{one[:5]}'"):
        store.get(one[:5])
    store._db.execute("UPDATE records SET id = ? WHERE id = ?", [one[:6] + two[6:], two])
    with pytest.raises(UserError, match=f"'{one[:6]}' stands for 2 items.*more of the id"):
        store.get(one[:6])


@pytest.mark.parametrize("item", ["", "'; DROP TABLE records; --", "%", "f/per\u0301u", "\x00"])
def test_what_is_no_item_is_refused_in_one_sentence(store: Store, item: str) -> None:
    store.put([peru_fact()])
    with pytest.raises(UserError, match="no item"):
        store.get(item)
    assert [f.key for f in store.all(Fact)] == ["f/peru"]


def test_keys_of_a_kind(store: Store) -> None:
    store.put([EDIT, OTHER, *CHAINS[0]])
    assert [k for k, _ in store.keys("fact", like="MUSEUM")] == [OTHER.key]
    assert store.keys("fact", like="%") == [], "a percent sign is a character, no pattern"
    assert len(store.keys("fact", limit=0)) == 0 and len(store.keys("fact", limit=1)) == 1
    with pytest.raises(UserError, match="unknown kind 'colour'.*fact"):
        store.keys("colour")


def test_verdicts_of_some_items_and_by_whom(store: Store) -> None:
    custom_verdict, other = said(P0.id, "leak@1", "drop"), said("x", "leak@1", "keep", model="m")
    store.put([custom_verdict, other, said("y", "leak@2", "keep")])
    assert list(store.verdicts([P0.id, "absent"])) == [custom_verdict]
    assert list(store.verdicts([])) == []
    assert store.judged("leak@1") == {P0.id}, "one by a model is another"
    assert store.judged("leak@1", model="m") == {"x"}
    assert store.known([custom_verdict.id, "nothing"]) == {custom_verdict.id}


def test_cases_that_are_no_longer_those_frozen(store: Store) -> None:
    split = make_split("s", [Case(key="case/a", fact=peru_fact("a")), Case(key="case/b", fact=peru_fact("b"))])
    store.put_split(split)
    store._db.execute("UPDATE records SET body = replace(body, 'Lima', 'Cusco') WHERE key = 'case/b'")
    stream = store.open_split("s")
    assert len(stream.cases) == 2, "nothing is read before the cases are gone through"
    with pytest.raises(DataError, match="not those that were frozen"):
        list(stream.cases)
    with pytest.raises(DataError, match="not those that were frozen"):
        store.split("s")
    store._db.execute("DELETE FROM records WHERE key = 'case/b'")
    with pytest.raises(DataError, match="not those that were frozen"):
        list(store.open_split("s").cases)


def test_extras_follow_the_facts_of_a_split(store: Store) -> None:
    extra = Extra.holding("a/x", 1, subject_key="a", name="x")
    store.put([extra, Extra.holding("z/x", 1, subject_key="z", name="x")])
    store.put_split(make_split("s", [Case(key="case/a", fact=peru_fact("a"))]))
    assert list(store.open_split("s").extras) == [extra]


LIMA = make_fact(key="f/1")
CASES = [
    ("old", make_fact(old="Cusco", key="f/2"), "'f/1' says 'Lima' for this subject and relation, this one 'Cusco'"),
    ("new", make_fact(new="Rome", key="f/2"), "'f/1' edits this subject and relation to 'Oslo', this one to 'Rome'"),
    ("folded", make_fact("PERU", "lima", "OSLO", key="f/2"), None),
    ("no edit", make_fact(new=None, key="f/2"), None),
    ("temporal", make_fact(old="Cusco", key="f/2", change="temporal"), None),
    ("relation", make_fact(old="Sol", key="f/2", relation=Relation(id="P38")), None),
    ("subject", make_fact("Chile", "Santiago", key="f/2"), None),
]


@pytest.mark.parametrize(("other", "text"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_contradicts(tmp_path: Path, other: Fact, text: str | None) -> None:
    def arrive(name: str, fact: Fact) -> list[str]:
        line = Lineage(item_id=fact.id, stage="load", made_at="2026-01-01T00:00:00")
        store.put_source(ImportSource(name, name, name, named=True), [fact], line)
        return [text for _, text in store.arrived_contradictions()]

    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        assert arrive("a", LIMA) == []
        assert arrive("b", other) == ([text] if text else [])
        assert store.contradictions("f/2") == ([text] if text else [])
        assert bool(store.contradictions("f/1")) == bool(text)


@pytest.mark.parametrize("number", range(9))
def test_counts_do_not_depend_on_where_batches_end(store: Store, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Records are merged three at a time, in chunks of two; of contradictory ones the last holds."""
    monkeypatch.setattr(writer, "BATCH", 3)
    monkeypatch.setattr(writer, "CHUNK", 2)
    assert store.put(peru_fact(f"f/{n}") for n in range(number)) == (number, number, 0)
    assert store.put(peru_fact(f"f/{n}", old=Object(text="Cusco")) for n in range(number)) == (number,) * 3
    assert [f.old.text for f in store.all(Fact)] == ["Cusco"] * number
    assert store.stats()["records"] == ({"fact": {"current": number, "versions": 2 * number}} if number else {})
    store.put(peru_fact("f/x", old=Object(text=text)) for text in [*"aaaaaa", *"cbcbcb", *"aaaaaa", "b"])
    assert [f.old.text for f in store.all(Fact)] == ["Cusco"] * number + ["b"]


def test_odd_text_comes_back(store: Store) -> None:
    odd = ("\x00", "\u2028", "Zu\u0308rich", "\U0001f600", "\\ud800", "NaN", "'\"", "\ufffe")
    facts = [peru_fact(f"f/{n}", paraphrases=(f"a{text}b",)) for n, text in enumerate(odd)]
    store.put(facts)
    assert list(store.all(Fact)) == facts


def test_a_reader_left_in_the_middle_does_not_stop_a_writer(store: Store) -> None:
    store.put(peru_fact(f"f/{n}") for n in range(5))
    assert next(store._db.stream("SELECT key FROM records"))
    assert store.put([peru_fact("f/new")]).new == 1


def test_verdicts_beside_a_source_are_of_no_source_and_come_with_it_or_not_at_all(store: Store) -> None:
    act = Lineage(item_id="", stage="adopt", made_at="t")
    verdict = said(EDIT.id, "a@1", "keep")
    store.put_source(ImportSource("s", "f", "d", named=True), [EDIT], act, beside=[verdict])
    assert [line.item_id for line in store.lineages()] == [EDIT.id]
    assert store.sources_of(EDIT.id) == ["s"] and store.sources_of(verdict.id) == []
    other = said(EDIT.id, "b@1", "keep")
    variant = EDIT.model_copy(update={"paraphrases": ("x {}",)})
    with pytest.raises(StoreError, match="would take the place"):
        store.put_source(ImportSource("t", "g", "e", named=True), [variant], act, beside=[other])
    assert [v.by for v in store.verdicts()] == ["a@1"]
