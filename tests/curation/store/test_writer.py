"""How records come into a store: batches, versions, and what a dump says is current."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.store import writer
from curation.store.import_sources import ImportSource
from curation.store.store import Store
from curation.store.writer import chunks, parent_of
from schemas.core.errors import DataError, StoreError
from schemas.core.records import Record
from schemas.extras import Extra
from schemas.facts import Fact, Object
from schemas.lineage import Lineage
from tests.support.curation.rule_records import EDIT, LINK, P0, Q0, S0, said
from tests.support.facts import peru_fact


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


def test_within_one_batch_the_last_of_a_key_holds(path: Path) -> None:
    second = peru_fact(old=Object(text="Lima", aliases=("x",)))
    with Store.open(path, create=True) as store:
        store.put([peru_fact(), second])
        assert store.get("f/peru") == second


def test_a_transaction_holds_no_text_that_is_in_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """16 MB of texts in one transaction: what has been handed to the file is not held beside it."""
    monkeypatch.setattr(writer, "CHUNK", 20)

    def many() -> Iterator[Record]:
        for n in range(160):
            yield Extra.holding(f"x/{n}", {"text": f"{n}{'y' * 100_000}"}, subject_key="x", name="text")

    holding: list[int] = []
    with Store.open(path, create=True) as store, pytest.MonkeyPatch.context() as patch:
        original = writer.PendingRows.done
        patch.setattr(
            writer.PendingRows,
            "done",
            lambda self: (holding.append(tracemalloc.get_traced_memory()[0]), original(self))[1],
        )
        tracemalloc.start()
        try:
            assert store.put(many()).new == 160
        finally:
            tracemalloc.stop()
    assert holding[0] < 8e6


def test_texts_that_come_to_much_are_merged_before_the_batch_is_full(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merges: list[int] = []
    merge = writer.PendingRows._merge
    monkeypatch.setattr(writer, "BATCH_CHARACTERS", 1)
    monkeypatch.setattr(writer, "CHUNK", 2)
    monkeypatch.setattr(writer.PendingRows, "_merge", lambda self: (merges.append(self._records), merge(self))[1])
    with Store.open(path, create=True) as store:
        assert store.put([peru_fact(key=f"f/{n}") for n in range(5)]).new == 5
    assert merges == [2, 2, 1, 0]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are merged three at a time, in chunks of two."""
    monkeypatch.setattr(writer, "BATCH", 3)
    monkeypatch.setattr(writer, "CHUNK", 2)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("number", range(9))
def test_counts_do_not_depend_on_where_batches_end(path: Path, number: int) -> None:
    with Store.open(path, create=True) as store:
        assert store.put(peru_fact(f"f/{n}") for n in range(number)) == (number, number, 0)
        assert store.put(peru_fact(f"f/{n}", old=Object(text="Cusco")) for n in range(number)) == (number,) * 3
        assert [f.old.text for f in store.all(Fact)] == ["Cusco"] * number
        assert store.stats()["records"] == ({"fact": {"current": number, "versions": 2 * number}} if number else {})


@pytest.mark.usefixtures("small")
def test_a_key_that_comes_back_in_a_later_batch_has_one_current_version(path: Path) -> None:
    """Contradictory records of one file: the last holds, every version is kept, and one is current."""
    texts = [*"aaaaaa", *"cbcbcb", *"aaaaaa", "b"]
    with Store.open(path, create=True) as store:
        store.put(peru_fact(old=Object(text=text)) for text in texts)
        assert store.get("f/peru").payload()["old"]["text"] == "b"
        assert store.stats()["records"]["fact"]["current"] == 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("known", [0, 3, 11])
def test_records_and_their_lineage_stand_in_the_order_in_which_they_came(path: Path, known: int) -> None:
    """Also where some were there before, and one comes twice: neither the new nor the known ones are sorted anew."""
    order = [7, 2, 9, 4, 10, 1, 8, 3, 0, 6, 5]
    facts = [peru_fact(f"f/{n}") for n in order]
    act = Lineage(item_id="", stage="load", made_at="2026-01-01T00:00:00", detail={"from": "x"})
    with Store.open(path, create=True) as store:
        store.put_source(ImportSource("a", "a.jsonl", "1", named=True), facts[:known], act)
        store.put_source(ImportSource("b", "b.jsonl", "2", named=True), [*facts, facts[0]], act)
        rows = store._db.execute("SELECT id, seq FROM records ORDER BY rowid")
        lines = store._db.execute("SELECT item_id FROM lineage ORDER BY rowid")
        held = store._db.execute("SELECT key FROM source_items WHERE source = 'b' ORDER BY 1")
    assert [i for i, _ in rows] == [i for (i,) in lines] == [f.id for f in facts]
    numbers = [seq for _, seq in rows]
    assert numbers == sorted(set(numbers))
    assert [key for (key,) in held] == sorted(f.key for f in facts), "what comes twice is held once"


@pytest.mark.usefixtures("small")
def test_one_act_told_twice_is_one_across_batches(path: Path) -> None:
    lines = [Lineage(item_id=f"i{n}", stage="load", made_at=f"2026-01-0{n + 1}T00:00:00") for n in range(7)]
    variants = [lines[0].model_copy(update={"request": r}) for r in ("r1", "r2")]
    with Store.open(path, create=True) as store:
        store.put([], lines)
        store.put([], [*lines, *variants])
        assert len(list(store.lineages())) == 9, "another request is another act"


def test_the_same_key_under_two_kinds_is_two_items(path: Path) -> None:
    with Store.open(path, create=True) as store:
        assert store.put([EDIT, Q0.model_copy(update={"key": EDIT.key})]) == (2, 2, 0)
        assert store.put([EDIT]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("record", "parent"),
    [
        (EDIT, None),
        (Q0, EDIT.key),
        (S0, Q0.key),
        (P0, EDIT.key),
        (LINK, EDIT.key),
        (said(P0.id, "leak@1", "drop"), P0.id),
        (Extra.holding("f/1/x", 1, subject_key="f/1", name="x"), "f/1"),
    ],
    ids=lambda v: v.kind if isinstance(v, Record) else "",
)
def test_what_a_record_belongs_to(path: Path, record: Record, parent: str | None) -> None:
    assert parent_of(record) == parent
    with Store.open(path, create=True) as store:
        store.put([record])
        assert list(store.all(type(record))) == [record]
        assert list(store.all(type(record), parent=parent or "x")) == ([record] if parent else [])


ODD = ["\x00", "\u2028", "Zu\u0308rich", "\U0001f600", "\\ud800", "NaN", "'\"", "\ufffe"]


@pytest.mark.parametrize("text", ODD)
def test_odd_text_comes_back(path: Path, text: str) -> None:
    fact = peru_fact(paraphrases=(f"a{text}b",))
    with Store.open(path, create=True) as store:
        store.put([fact])
        assert store.get("f/peru") == fact


def test_half_a_pair_is_named_with_its_record_and_nothing_is_kept(path: Path) -> None:
    """An escape such as "\\ud800" in a JSON file makes a text that UTF-8 cannot hold: no disk is full for that."""
    odd = peru_fact("f/odd", paraphrases=("half \ud800 pair",))
    with Store.open(path, create=True) as store:
        for put in (
            lambda: store.put([peru_fact(), odd]),
            lambda: store.put([peru_fact()], [Lineage(item_id="i", stage="s", made_at="2026", detail={"a": "\udfff"})]),
        ):
            with pytest.raises(DataError, match="half of a surrogate pair") as error:
                put()
            assert error.value.where in ("f/odd", "i") and "space" not in str(error.value)
            str(error.value).encode()
        assert list(store.all(Fact)) == [] == list(store.lineages())


def test_chunks_are_of_one_size_but_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CHUNK", 3)
    assert [list(chunks(range(n))) for n in (0, 1, 3, 4)] == [[], [[0]], [[0, 1, 2]], [[0, 1, 2], [3]]]


@pytest.mark.usefixtures("small")
def test_an_act_on_many_records_is_kept_as_lineage_of_each_would_be(tmp_path: Path) -> None:
    """The short way of an import against the plain one: the same rows, also where some acts are known already."""
    act = Lineage(item_id="x", stage="load", made_at="t", model='m"', tokens_in=3, cost=0.5, detail={"from": 'a"b\n'})
    facts = [peru_fact(f"f/{n % 7}", old=Object(text=f"Lima {n}")) for n in range(12)]
    facts[9:9] = [peru_fact("f/1", old=Object(text="Cusco"))]  # one chunk holds two versions of f/1
    rows = []
    for name in ("plain", "short"):
        with Store.open(tmp_path / name, create=True) as store:
            for some in (facts[:5], facts):
                if name == "plain":
                    store.put(some, [act.model_copy(update={"item_id": f.id}) for f in some])
                else:
                    source = ImportSource("s", "f", "d", named=True)
                    store.put_source(source, some, act, replace=True, whole=False)
            rows.append(
                store._db.execute("SELECT * EXCLUDE seq FROM records ORDER BY seq")
                + store._db.execute("SELECT * FROM lineage ORDER BY ALL")
            )
    assert rows[0] == rows[1]
    assert len(rows[0]) == 25


def test_numbers_of_acts_come_back_whatever_stands_around_them(path: Path) -> None:
    """Columns are looked at to know their type: nothing but gaps and a number far behind, halves beside wholes."""
    plain = [Lineage(item_id=f"i{n}", stage="s", made_at="t") for n in range(1500)]
    odd = [("a", 2**53 + 1, 0.1), ("b", 0, 3.0), ("c", None, 1e-300), ("d", 7, None)]
    said_ = [Lineage(item_id=i, stage="s", made_at="t", tokens_in=n, cost=c) for i, n, c in odd]
    with Store.open(path, create=True) as store:
        store.put([], [*plain, *said_])
        sql = "SELECT item_id, tokens_in, cost FROM lineage WHERE item_id NOT LIKE 'i%' ORDER BY ALL"
        assert store._db.execute(sql) == odd
        assert store._db.count("SELECT count(*) FROM lineage WHERE cost IS NULL") == 1501


def test_a_reader_left_in_the_middle_does_not_stop_a_writer(path: Path) -> None:
    with Store.open(path, create=True) as store:
        store.put(peru_fact(f"f/{n}") for n in range(5))
        assert next(store._db.stream("SELECT key FROM records"))
        assert store.put([peru_fact("f/new")]).new == 1


def test_verdicts_beside_a_source_are_of_no_source_and_come_with_it_or_not_at_all(path: Path) -> None:
    act = Lineage(item_id="", stage="adopt", made_at="t")
    verdict = said(EDIT.id, "a@1", "keep")
    with Store.open(path, create=True) as store:
        store.put_source(ImportSource("s", "f", "d", named=True), [EDIT], act, beside=[verdict])
        assert [line.item_id for line in store.lineages()] == [EDIT.id]
        assert store.sources_of(EDIT.id) == ["s"] and store.sources_of(verdict.id) == []
        other = said(EDIT.id, "b@1", "keep")
        variant = EDIT.model_copy(update={"paraphrases": ("x {}",)})
        with pytest.raises(StoreError, match="would take the place"):
            store.put_source(ImportSource("t", "g", "e", named=True), [variant], act, beside=[other])
        assert [v.by for v in store.verdicts()] == ["a@1"]
