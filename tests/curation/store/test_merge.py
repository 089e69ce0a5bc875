"""Two people with a store each: nothing of either is lost, and what both changed is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.backup import MergeResult, Preference, merge
from curation.store.import_sources import ImportSource
from curation.store.store import Store
from schemas.core.errors import StoreError, UserError
from schemas.facts import Fact, Object
from schemas.lineage import Lineage
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict
from tests.support.facts import make_fact, peru_fact

FACT = peru_fact()
CORRECTED = peru_fact(old=Object(text="Cusco"))
OTHERWISE = peru_fact(old=Object(text="Arequipa"))
PROMPT = ScriptPrompt(key="p/1", fact="f/peru", text="How? To", offset=8, targets=("Lima", "Oslo"))
ACT = Lineage(item_id="", stage="load", made_at="2026-01-01T00:00:00")


def judged(person: str, label: str) -> Verdict:
    by = f"person:{person}/filter@1"
    return Verdict(key=f"verdict/{by}/{PROMPT.id}", item_id=PROMPT.id, by=by, label=label, reason="so")  # type: ignore[arg-type]


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    """Two copies of a store with one fact and one prompt."""
    ours, theirs = tmp_path / "ours.duckdb", tmp_path / "the 'irs'.duckdb"
    with Store.open(ours, create=True) as store:
        store.put_source(ImportSource("mine", "a.csv", "1", named=True), [FACT, PROMPT], ACT)
    shutil.copyfile(ours, theirs)
    return ours, theirs


def put(path: Path, *records: Fact | Verdict) -> None:
    with Store.open(path, write=True) as store:
        store.put(records)


def merged(stores: tuple[Path, Path], prefer: Preference | None = None) -> MergeResult:
    before = stores[1].read_bytes()
    with Store.open(stores[0], write=True) as store:
        result = merge(store, stores[1], prefer=prefer)
    assert stores[1].read_bytes() == before
    return result


def current(path: Path) -> dict[str, str]:
    with Store.open(path) as store:
        return {fact.key: fact.old.text for fact in store.all(Fact)}


def test_records_and_judgements_of_both(stores: tuple[Path, Path]) -> None:
    ours, theirs = stores
    put(ours, judged("ann", "keep"))
    put(theirs, judged("bob", "keep"), make_fact("Chad", key="f/chad"))
    with Store.open(theirs, write=True) as store:
        freeze(store, "hers", SplitRule())
    result = merged(stores)
    assert (result.new, result.changed, result.two_versions, result.splits) == (3, 0, 0, 1)
    with Store.open(ours) as store:
        assert [v.by for v in store.verdicts([PROMPT.id])] == ["person:ann/filter@1", "person:bob/filter@1"]
        assert [c.key for c in store.split("hers").cases] == ["case/f/peru"]
        assert store.stale() == [] and store.sources_of(FACT.id) == ["mine"]
    assert merged(stores).new == 0, "a second time changes nothing"


def test_what_one_of_both_changed_counts(stores: tuple[Path, Path]) -> None:
    ours, theirs = stores
    put(theirs, CORRECTED)
    result = merged(stores)
    assert (result.changed, result.two_versions) == (1, 0) and current(ours) == {"f/peru": "Cusco"}
    with Store.open(ours) as store:
        assert [item.key for item in store.stale()] == ["p/1"]


def test_what_we_changed_stays(stores: tuple[Path, Path]) -> None:
    put(stores[0], CORRECTED)
    assert merged(stores)[:3] == (0, 0, 0) and current(stores[0]) == {"f/peru": "Cusco"}


@pytest.mark.parametrize(("prefer", "text"), [("ours", "Cusco"), ("theirs", "Arequipa")])
def test_what_both_changed_needs_a_word(stores: tuple[Path, Path], prefer: Preference, text: str) -> None:
    put(stores[0], CORRECTED)
    put(stores[1], OTHERWISE)
    with pytest.raises(StoreError, match="1 key have other content there.*--keep theirs") as error:
        merged(stores)
    assert error.value.lines == ("two versions: fact f/peru",) and current(stores[0]) == {"f/peru": "Cusco"}
    result = merged(stores, prefer)
    assert result.lines == ("two versions: fact f/peru",) and current(stores[0]) == {"f/peru": text}
    with Store.open(stores[0]) as store:
        assert {store.get(fact.id) for fact in (FACT, CORRECTED, OTHERWISE)} == {FACT, CORRECTED, OTHERWISE}


def test_two_judgements_of_one_person(stores: tuple[Path, Path]) -> None:
    put(stores[0], judged("ann", "keep"))
    put(stores[1], judged("ann", "drop"))
    assert merged(stores).two_versions == 1
    with Store.open(stores[0]) as store:
        assert [v.label for v in store.verdicts([PROMPT.id])] == ["keep"]


def test_a_store_of_an_earlier_version(stores: tuple[Path, Path]) -> None:
    put(stores[1], make_fact("Chad", key="f/chad"))
    with duckdb.connect(str(stores[1])) as db:
        db.execute("DROP TABLE origins")
        db.execute("DELETE FROM migrations WHERE name = 'm004_origins'")
    assert merged(stores).new == 1


def test_what_cannot_be_merged(stores: tuple[Path, Path], tmp_path: Path) -> None:
    ours, theirs = stores
    with pytest.raises(UserError, match="with itself"):
        merged((ours, ours))
    with pytest.raises(StoreError, match="no such store"), Store.open(ours, write=True) as store:
        merge(store, tmp_path / "absent.duckdb")
    with Store.open(theirs) as store, pytest.raises(StoreError, match="reading only"):
        merge(store, ours)
    with Store.open(theirs, write=True) as store:
        freeze(store, "mine", SplitRule())
    put(ours, CORRECTED)
    with Store.open(ours, write=True) as store:
        store.confirm(["f/peru"])
        freeze(store, "mine", SplitRule())
        with pytest.raises(StoreError, match="another split is called 'mine@1.0.0' there"):
            merge(store, theirs)
