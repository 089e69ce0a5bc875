"""What a key means: the same numbers in two files, a corrected file, two sources of one record, stores of before."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from curation.store.backup import dump, rebuild
from curation.store.import_sources import EARLIER, MADE_HERE, ConflictError, ImportSource, SourceUpdate
from curation.store.store import Store
from schemas.core.errors import StoreError
from schemas.core.records import Record
from schemas.facts import Fact, Object
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER, P0, Q0, said
from tests.support.facts import peru_fact

LINES = [Lineage(item_id=EDIT.id, stage="load", made_at="2026-01-01T00:00:00")]
CUSCO = peru_fact(old=Object(text="Cusco"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


def source(name: str, digest: str | None = None, *, named: bool = True) -> ImportSource:
    return ImportSource(name, f"{name}.jsonl", digest or name, named)


def bring(
    store: Store, name: str | ImportSource, records: Iterable[Record], *, replace: bool = False, whole: bool = True
) -> SourceUpdate:
    act = Lineage(item_id="", stage="load", made_at="2026-01-01T00:00:00")
    import_source = name if isinstance(name, ImportSource) else source(name)
    return store.put_source(import_source, records, act, replace=replace, whole=whole)


def counts(update: SourceUpdate) -> tuple[int, int, int]:
    return update.new, update.changed, update.gone


def keys(store: Store, kind: str) -> set[str]:
    return {key for key, _ in store.keys(kind)}


def test_the_same_again_changes_nothing(path: Path) -> None:
    with Store.open(path, create=True) as store:
        assert counts(bring(store, "a", [EDIT, *CHAINS[0]])) == (4, 0, 0)
        assert counts(bring(store, "a", [EDIT, *CHAINS[0]])) == (0, 0, 0)


def test_another_source_with_the_same_key_is_refused_and_nothing_of_it_stays(path: Path) -> None:
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT, Q0])
        with pytest.raises(ConflictError, match=r"first: fact f/peru, held by 'a'.*--replace.*--as NAME") as error:
            bring(store, "b", [peru_fact("f/other"), CUSCO])
        assert [(c.kind, c.key, c.holder) for c in error.value.conflicts] == [("fact", "f/peru", "a")]
        assert store.get("f/peru") == EDIT and keys(store, "fact") == {"f/peru"}
        assert [s["source"] for s in store.stats()["sources"]] == ["a"]


def test_conflicts_of_prompts_alone_are_conflicts(path: Path) -> None:
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT, Q0])
        with pytest.raises(ConflictError, match="question f/peru/q0"):
            bring(store, "b", [EDIT, Q0.model_copy(update={"text": "How else?"})])
        assert counts(bring(store, "b", [EDIT, CHAINS[1][0]])) == (1, 0, 0), "more about the same fact is none"


def test_a_corrected_file_replaces_all_of_its_records(path: Path) -> None:
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT, *CHAINS[0], *CHAINS[1], OTHER])
        bring(store, "b", [OTHER, peru_fact("f/b")])
        store.put([said(P0.id, "leak@1", "drop")])
        variant = Q0.model_copy(update={"text": "How to get to Peru?"})
        update = bring(store, "a", [EDIT, variant, *CHAINS[0][1:], peru_fact("f/new")])
        assert counts(update) == (1, 1, 3)
        assert set(update.gone_keys) == {r.key for r in CHAINS[1]} and update.changed_keys == (Q0.key,)
        assert keys(store, "prompt") == {P0.key} and keys(store, "fact") == {"f/peru", "f/museum", "f/b", "f/new"}
        assert [v.label for v in store.verdicts([P0.id])] == ["drop"], "what stayed keeps its verdicts"
        assert store.get(CHAINS[1][2].id) == CHAINS[1][2], "what is gone is kept as an earlier version"
        assert counts(bring(store, "a", [EDIT, *CHAINS[0], *CHAINS[1], OTHER])) == (3, 1, 1), "and can come back"
        assert store.get(CHAINS[1][2].key) == CHAINS[1][2]


def test_a_part_of_a_source_takes_nothing_away(path: Path) -> None:
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT, OTHER])
        assert counts(bring(store, "a", [EDIT], whole=False)) == (0, 0, 0)
        assert keys(store, "fact") == {"f/peru", "f/museum"}
        assert counts(bring(store, "a", [EDIT])) == (0, 0, 1), "it still knew what it holds"


def test_a_correction_of_what_two_sources_hold_is_a_conflict_with_the_other(path: Path) -> None:
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT])
        bring(store, "b", [EDIT])
        with pytest.raises(ConflictError, match="held by 'b'"):
            bring(store, "a", [CUSCO])
        assert bring(store, "a", [CUSCO], replace=True).taken == 1
        with pytest.raises(ConflictError, match="held by 'a'"):
            bring(store, "b", [EDIT])


def test_replacing_a_fact_sets_aside_what_hung_on_the_other(path: Path) -> None:
    """Questions, scripts, prompts and links of the other fact must not hang on this one, made or imported."""
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])
        store.put([*CHAINS[1]])  # made in the store
        variant = Q0.model_copy(update={"text": "How to visit Cusco?"})
        update = bring(store, "b", [CUSCO, variant], replace=True)
        assert (update.taken, update.set_aside) == (2, 6)
        assert store.get("f/peru") == CUSCO
        assert [q.text for q in store.all(ScriptQuestion, parent="f/peru")] == ["How to visit Cusco?"]
        assert not list(store.all(ScriptPrompt, parent="f/peru")) and keys(store, "neighbour") == set()
        assert {s.key for s in store.all(Script)} == {BESIDE[1].key}, "the neighbour keeps its own"
        with pytest.raises(ConflictError):
            bring(store, "a", [EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])


def test_replacing_a_question_archives_nothing_and_makes_its_own_script_and_prompt_stale(path: Path) -> None:
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT, *CHAINS[0]])
        store.put([*CHAINS[1]])
        update = bring(store, "b", [EDIT, Q0.model_copy(update={"text": "How else?"})], replace=True)
        assert (update.taken, update.set_aside) == (1, 0)
        assert keys(store, "prompt") == {P0.key, CHAINS[1][2].key}
        assert {s.key for s in store.stale()} == {CHAINS[0][1].key, P0.key}


def test_one_added_alias_costs_a_case_nothing(path: Path) -> None:
    alias = EDIT.model_copy(update={"old": EDIT.old.model_copy(update={"aliases": ("Another name",)})})
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])
        before = {kind: n["current"] for kind, n in store.stats()["records"].items()}
        with pytest.raises(ConflictError, match="say --replace to correct these records alone, or --as NAME"):
            bring(store, "b", [alias])
        update = bring(store, "b", [alias], replace=True)
        assert (update.changed, update.gone, update.set_aside) == (1, 0, 0) and store.get("f/peru") == alias
        assert {kind: n["current"] for kind, n in store.stats()["records"].items()} == before
        stale = {s.key for s in store.stale()}
        assert P0.key in stale and not stale & {r.key for r in BESIDE}, "what does not depend on it is not touched"


def test_more_than_a_tenth_is_gone_only_where_that_is_said(path: Path) -> None:
    facts = [peru_fact(f"f/{n}") for n in range(20)]
    with Store.open(path, create=True) as store:
        bring(store, "a", facts)
        with pytest.raises(StoreError, match="3 of 20 records that 'a' brought would be gone.*--yes"):
            store.put_source(source("a"), facts[3:], LINES[0], shrink=False)
        assert len(keys(store, "fact")) == 20, "nothing was imported"
        assert store.put_source(source("a"), facts[2:], LINES[0], shrink=False).gone == 2
        assert store.put_source(source("a"), facts[9:], LINES[0], shrink=True).gone == 7


def test_the_same_file_under_a_name_takes_over_from_its_made_name(path: Path) -> None:
    with Store.open(path, create=True) as store:
        bring(store, source("f#1", "d", named=False), [EDIT])
        bring(store, source("mine", "d"), [EDIT])
        assert [s["source"] for s in store.stats()["sources"]] == ["mine"]
        assert bring(store, source("f#1", "d", named=False), [EDIT]).source == "mine"
        assert counts(bring(store, source("mine", "e"), [CUSCO])) == (0, 1, 0)


@pytest.mark.parametrize(("lines", "holder"), [(LINES, EARLIER), ([], MADE_HERE)], ids=["imported", "made"])
def test_records_of_before_belong_to_an_unnamed_source(path: Path, lines: list[Lineage], holder: str) -> None:
    with Store.open(path, create=True) as store:
        store.put([EDIT, OTHER], lines)
        assert counts(bring(store, "a", [EDIT])) == (0, 0, 0)
        assert counts(bring(store, "a", [CUSCO])) == (0, 1, 0), "what was brought unchanged is the source's now"
        with pytest.raises(ConflictError, match=MADE_HERE) as error:
            bring(store, "a", [peru_fact("f/museum")])
        assert error.value.conflicts[0].holder == MADE_HERE
    with Store.open(path.with_name("t.duckdb"), create=True) as store:
        store.put([EDIT], lines)
        with pytest.raises(ConflictError) as error:
            bring(store, "b", [CUSCO])
        assert error.value.conflicts[0].holder == holder and "--source" not in str(error.value)


def test_dump_and_rebuild_keep_the_sources(path: Path, tmp_path: Path) -> None:
    with Store.open(path, create=True) as store:
        bring(store, "a", [EDIT, Q0])
        bring(store, "b", [EDIT])
        dump(store, tmp_path / "dump.jsonl")
        before = store.stats()["sources"]
    rebuild(tmp_path / "dump.jsonl", tmp_path / "t.duckdb")
    with Store.open(tmp_path / "t.duckdb", write=True) as db:
        assert db.stats()["sources"] == before and db.sources_of(EDIT.id) == ["a", "b"]
        assert counts(bring(db, "a", [EDIT])) == (0, 0, 1)
        assert list(db.all(Fact)) == [EDIT]
