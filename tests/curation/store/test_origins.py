"""What was made from content that changed is stale, by whatever road the change came; freezing refuses it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.cli.items import confirm
from curation.rules.explain import explain
from curation.rules.release import freeze, release
from curation.rules.rule import SplitRule
from curation.store.backup import MergeResult, Preference, dump, merge
from curation.store.import_sources import EARLIER, MADE_HERE, ConflictError, ImportSource, SourceUpdate
from curation.store.origins import MADE_FROM, StaleError, StaleItem
from curation.store.store import KINDS, Store
from schemas.core.errors import StoreError, UserError
from schemas.core.records import Record
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour, Object
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict
from tests.support.curation.mini_store import forget_origins
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER, P0, Q0, said
from tests.support.facts import make_fact, peru_fact

FACT, NEAR_FACT = peru_fact(), make_fact("Chad", "Lima", "Rome", key="f/chad")
CORRECTED = peru_fact(old=Object(text="Cusco"))
QUESTION = ScriptQuestion(key="q/1", fact="f/peru", text="How do I send a letter to the government of Peru?")
SCRIPT = Script(key="s/1", question="q/1", steps=("Write it", "Send it to Lima"))
PROMPT = ScriptPrompt(
    key="p/1", fact="f/peru", question="q/1", script="s/1", text="How? Step 1: To", offset=16, targets=("Lima", "Oslo")
)
NEAR_LINK = Neighbour(key="n/1", edit="f/peru", fact="f/chad", how="same_object")
EXTRA = Extra.holding("f/peru/extra", 1, subject_key="f/peru", name="popularity")
MADE = [QUESTION, SCRIPT, PROMPT, NEAR_LINK, EXTRA]
JUDGED = Verdict(key="v/1", item_id=PROMPT.id, by="leak@1", label="keep")
NEAR_PROMPT = Verdict(key="v/2", item_id="x", by="fit@1", label="keep", related=(NEAR_LINK.id,))
ACT = Lineage(item_id="", stage="load", made_at="2026-01-01T00:00:00")


@pytest.fixture
def derived(tmp_path: Path) -> Path:
    derived = tmp_path / "s.duckdb"
    with Store.open(derived, create=True) as store:
        store.put_source(ImportSource("mine", "a.csv", "1", named=True), [FACT, NEAR_FACT], ACT)
        store.put([*MADE, JUDGED, NEAR_PROMPT.model_copy(update={"item_id": PROMPT.id})])
    return derived


@pytest.fixture
def made(derived: Path) -> Iterator[Store]:
    with Store.open(derived, write=True) as store:
        yield store


def stale(derived: Path) -> list[str]:
    with Store.open(derived) as store:
        return [item.key for item in store.stale()]


ALL = ["f/peru/extra", "n/1", "p/1", "q/1", "s/1", "v/1", "v/2"]


@pytest.mark.parametrize(
    "road",
    [
        lambda store: store.put([CORRECTED]),
        lambda store: store.put_source(ImportSource("mine", "b.csv", "2", named=True), [CORRECTED, NEAR_FACT], ACT),
    ],
    ids=["construct", "import"],
)
def test_whatever_was_made_of_a_changed_fact_is_stale(derived: Path, road: Callable[[Store], object]) -> None:
    assert stale(derived) == []
    with Store.open(derived, write=True) as store:
        road(store)
        with pytest.raises(StaleError, match="7 records were made from content that has changed since") as error:
            freeze(store, "mine", SplitRule())
        assert "stale: prompt p/1: made from an earlier version of f/peru" in error.value.lines
        assert [name for name, *_ in store.split_names()] == []
        for item in ("case/f/peru", "p/1", "q/1"):
            explanation = explain(store, SplitRule(), item)
            assert explanation.status == "held" and "made from an earlier version of f/peru" in explanation.why
        judged = {v.key for v in store.verdicts()}
        assert {"v/1", "v/2"} <= judged and not {"v/1", "v/2"} & {v.key for v in store.verdicts(stale=False)}
    assert stale(derived) == ALL


HOW_ELSE = QUESTION.model_copy(update={"text": "How else?"})
CHANGES = [
    ("a neighbour", [make_fact("Chad", "Cusco", "Rome", key="f/chad")], ["n/1", "v/2"]),
    ("a question", [HOW_ELSE], ["p/1", "s/1", "v/1", "v/2"]),
    ("there and back", [CORRECTED, FACT], []),
    (
        "a fact that a verdict compares with",
        [
            said(FACT.id, "dates@1", "unsure").model_copy(update={"related": (NEAR_FACT.id,)}),
            make_fact("Chad", "Cusco", "Rome", key="f/chad"),
        ],
        ["n/1", "v/2", f"verdict/dates@1/{FACT.id}"],
    ),
    (
        "a pair of which one is gone",
        [
            said(NEAR_LINK.id, "fit@2", "keep", PROMPT.id),
            PROMPT.model_copy(update={"text": "How so? Step 1: To"}),
            make_fact("Chad", "Cusco", "Rome", key="f/chad"),
        ],
        ["n/1"],
    ),
]


@pytest.mark.parametrize(("changes", "keys"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_what_was_made_of_it_is_stale_and_nothing_else(derived: Path, changes: list[Record], keys: list[str]) -> None:
    with Store.open(derived, write=True) as store:
        for record in changes:
            store.put([record])
    assert stale(derived) == keys


def test_what_comes_again_is_made_from_what_is_there_now(made: Store) -> None:
    made.put([CORRECTED, *MADE])
    assert [item.key for item in made.stale()] == ["v/1", "v/2"], "judgements were given for the earlier fact"
    assert made.judged("leak@1") == set(), "so the check asks again"
    made.put([JUDGED])
    assert made.judged("leak@1") == {PROMPT.id}
    others = [said(NEAR_LINK.id, "fit@2", "keep", item) for item in (PROMPT.id, QUESTION.id)]
    made.put([*others, make_fact("Chad", "Cusco", "Rome", key="f/chad"), others[0]])
    assert made.judged("fit@2") == set(), "one of its two verdicts is stale"


def test_an_item_is_held_for_what_is_stale_anywhere_in_its_case(made: Store) -> None:
    made.put([make_fact("Chad", "Cusco", "Rome", key="f/chad")])
    for item in ("f/peru", "p/1"):
        explanation = explain(made, SplitRule(prefix="f/peru"), item)
        assert explanation.status == "held" and "made from an earlier version of f/chad" in explanation.why


def test_confirming(made: Store) -> None:
    made.put([HOW_ELSE, make_fact("Chad", "Cusco", "Rome", key="f/chad")])
    assert sorted(item.key for item in made.confirm(["q/1"])) == ["p/1", "s/1", "v/1", "v/2"]
    assert [item.key for item in made.stale()] == ["n/1", "v/2"]
    made.confirm(["f/chad"])
    assert made.stale() == []
    with pytest.raises(UserError, match="nothing is stale because of q/1"):
        made.confirm(["q/1"])


def test_the_command_lists_what_is_confirmed_and_counts_judgements(derived: Path) -> None:
    with Store.open(derived, write=True) as store:
        store.put([HOW_ELSE])
    output = CliRunner().invoke(confirm, ["q/1", "--store", str(derived)]).output
    assert output == "confirmed: prompt p/1\nconfirmed: script s/1\n2 records and 2 verdicts and ratings confirmed.\n"


@pytest.mark.parametrize(
    ("kinds", "command"),
    [
        (["prompt", "verdict"], "make them again: scedit construct;"),
        (["tendency_question"], "make them again: scedit data construct-events;"),
        (["document_probe", "rating"], "make them again: scedit data construct-documents;"),
        (["verdict", "rating"], "judge them again: scedit store check;"),
        (["rating", "verdict"], "have people judge them again;"),
    ],
)
def test_the_advice_names_the_command_that_made_the_first(kinds: list[str], command: str) -> None:
    error = StaleError([StaleItem(kind, "k", "i", "f/peru f/chad") for kind in kinds], "s.duckdb")
    assert command in str(error) and str(error).endswith("scedit store confirm f/peru")


def test_what_is_made_anew_takes_the_place_of_what_was_made_here_only(made: Store) -> None:
    mine = ScriptQuestion(key="q/mine", fact="f/peru", text="How do I move?")
    made.put([mine], [Lineage(item_id=mine.id, stage="adopt", made_at="2026-01-01T00:00:00")])
    made.put([CORRECTED])
    made.put([CORRECTED, ScriptQuestion(key="q/new", fact="f/peru", text="How now?")], remade=["f/peru"])
    assert [q.key for q in made.all(ScriptQuestion)] == ["q/mine", "q/new"]
    assert [item.key for item in made.stale()] == ["q/mine"]


def test_what_is_left_of_a_fact_that_is_gone_is_not_stale(made: Store) -> None:
    made.put_source(ImportSource("mine", "c.csv", "3", named=True), [NEAR_FACT], ACT)
    assert made.stale() == []
    with pytest.raises(UserError, match="no case"):
        freeze(made, "mine", SplitRule())


def test_other_facts_than_the_rule_looks_at_hinder_nothing(made: Store) -> None:
    made.put([CORRECTED, make_fact("Mali", "Bamako", "Rome", key="g/mali")])
    made.put([ScriptPrompt(key="p/2", fact="g/mali", text="How? To", offset=8, targets=("Bamako", "Rome"))])
    assert len(freeze(made, "mali", SplitRule(prefix="g/")).cases) == 1


def test_a_split_with_stale_records_is_not_released(made: Store) -> None:
    freeze(made, "mine", SplitRule(), version="1.0.0-candidate")
    made.put([CORRECTED])
    with pytest.raises(StaleError):
        release(made, "mine", without_sample="x")


def test_a_store_of_an_earlier_version_learns_it_from_lineage(derived: Path) -> None:
    with Store.open(derived, write=True) as store:
        line = {"stage": "questions", "parents": (FACT.id,)}
        store.put([CORRECTED], [Lineage(item_id=QUESTION.id, made_at="2026-01-01T00:00:00", **line)])  # type: ignore[arg-type]
    forget_origins(derived)
    before = derived.read_bytes()
    assert stale(derived) == ["q/1"], "of the rest nothing else is known than its key"
    with Store.open(derived) as store:
        assert "origins" not in dump(store, derived.with_name("d.jsonl"))
    assert derived.read_bytes() == before, "a reading command migrates nothing"
    Store.open(derived, write=True).close()
    assert stale(derived) == ["q/1"]
    assert derived.with_name("s.before-m004_origins.duckdb").exists()


def test_every_kind_that_has_a_parent_has_origins() -> None:
    """A kind of record that depends on another one by its key must not be forgotten here."""
    keys = {"fact", "edit", "question", "event", "document", "subject_key", "item_id", "script"}
    dependent = {
        kind
        for kind, cls in KINDS.items()
        if keys & {n for n, f in cls.model_fields.items() if "str" in str(f.annotation)}
    }
    assert dependent == set(MADE_FROM)


def source(name: str, digest: str | None = None, *, named: bool = True) -> ImportSource:
    return ImportSource(name, f"{name}.jsonl", digest or name, named)


def bring(
    store: Store, name: str | ImportSource, records: Iterable[Record], *, replace: bool = False, whole: bool = True
) -> SourceUpdate:
    import_source = name if isinstance(name, ImportSource) else source(name)
    return store.put_source(import_source, records, ACT, replace=replace, whole=whole)


def counts(update: SourceUpdate) -> tuple[int, int, int]:
    return update.new, update.changed, update.gone


def keys(store: Store, kind: str) -> set[str]:
    return {key for key, _ in store.keys(kind)}


def test_another_source_with_the_same_key_is_refused_and_nothing_of_it_stays(store: Store) -> None:
    bring(store, "a", [EDIT, Q0])
    with pytest.raises(ConflictError, match=r"first: fact f/peru, held by 'a'.*--replace.*--as NAME") as error:
        bring(store, "b", [peru_fact("f/other"), CORRECTED])
    assert [(c.kind, c.key, c.holder) for c in error.value.conflicts] == [("fact", "f/peru", "a")]
    assert store.get("f/peru") == EDIT and keys(store, "fact") == {"f/peru"}
    assert [s["source"] for s in store.stats()["sources"]] == ["a"]


def test_a_corrected_file_replaces_all_of_its_records(store: Store) -> None:
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


def test_a_correction_of_what_two_sources_hold_is_a_conflict_with_the_other(store: Store) -> None:
    bring(store, "a", [EDIT])
    bring(store, "b", [EDIT])
    with pytest.raises(ConflictError, match="held by 'b'"):
        bring(store, "a", [CORRECTED])
    assert bring(store, "a", [CORRECTED], replace=True).taken == 1
    with pytest.raises(ConflictError, match="held by 'a'"):
        bring(store, "b", [EDIT])


def test_replacing_a_fact_sets_aside_what_hung_on_the_other(store: Store) -> None:
    """Questions, scripts, prompts and links of the other fact must not hang on this one, made or imported."""
    bring(store, "a", [EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])
    store.put([*CHAINS[1]])  # made in the store
    variant = Q0.model_copy(update={"text": "How to visit Cusco?"})
    update = bring(store, "b", [CORRECTED, variant], replace=True)
    assert (update.taken, update.set_aside) == (2, 6)
    assert store.get("f/peru") == CORRECTED
    assert [q.text for q in store.all(ScriptQuestion, parent="f/peru")] == ["How to visit Cusco?"]
    assert not list(store.all(ScriptPrompt, parent="f/peru")) and keys(store, "neighbour") == set()
    assert {s.key for s in store.all(Script)} == {BESIDE[1].key}, "the neighbour keeps its own"
    with pytest.raises(ConflictError):
        bring(store, "a", [EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])


def test_replacing_a_question_archives_nothing_and_makes_its_own_script_and_prompt_stale(
    store: Store,
) -> None:
    bring(store, "a", [EDIT, *CHAINS[0]])
    store.put([*CHAINS[1]])
    update = bring(store, "b", [EDIT, Q0.model_copy(update={"text": "How else?"})], replace=True)
    assert (update.taken, update.set_aside) == (1, 0)
    assert keys(store, "prompt") == {P0.key, CHAINS[1][2].key}
    assert {s.key for s in store.stale()} == {CHAINS[0][1].key, P0.key}


def test_one_added_alias_costs_a_case_nothing(store: Store) -> None:
    alias = EDIT.model_copy(update={"old": EDIT.old.model_copy(update={"aliases": ("Another name",)})})
    bring(store, "a", [EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])
    before = {kind: n["current"] for kind, n in store.stats()["records"].items()}
    with pytest.raises(ConflictError, match="say --replace to replace these records alone, or --as NAME"):
        bring(store, "b", [alias])
    update = bring(store, "b", [alias], replace=True)
    assert (update.changed, update.gone, update.set_aside) == (1, 0, 0) and store.get("f/peru") == alias
    assert {kind: n["current"] for kind, n in store.stats()["records"].items()} == before
    stale = {s.key for s in store.stale()}
    assert P0.key in stale and not stale & {r.key for r in BESIDE}, "what does not depend on it is not touched"


def test_more_than_a_tenth_is_gone_only_where_that_is_said(store: Store) -> None:
    facts = [peru_fact(f"f/{n}") for n in range(20)]
    bring(store, "a", facts)
    with pytest.raises(StoreError, match="3 of 20 records that 'a' brought would be gone.*--yes"):
        store.put_source(source("a"), facts[3:], ACT, shrink=False)
    assert len(keys(store, "fact")) == 20, "nothing was imported"
    assert store.put_source(source("a"), facts[2:], ACT, shrink=False).gone == 2
    assert store.put_source(source("a"), facts[9:], ACT, shrink=True).gone == 7


def test_the_same_file_under_a_name_takes_over_from_its_made_name(store: Store) -> None:
    bring(store, source("f#1", "d", named=False), [EDIT])
    bring(store, source("mine", "d"), [EDIT])
    assert [s["source"] for s in store.stats()["sources"]] == ["mine"]
    assert bring(store, source("f#1", "d", named=False), [EDIT]).source == "mine"
    assert counts(bring(store, source("mine", "e"), [CORRECTED])) == (0, 1, 0)


@pytest.mark.parametrize(
    ("lines", "holder"),
    [([ACT.model_copy(update={"item_id": EDIT.id})], EARLIER), ([], MADE_HERE)],
    ids=["imported", "made"],
)
def test_records_of_before_belong_to_an_unnamed_source(path: Path, lines: list[Lineage], holder: str) -> None:
    with Store.open(path, create=True) as store:
        store.put([EDIT, OTHER], lines)
        assert counts(bring(store, "a", [EDIT])) == (0, 0, 0)
        assert counts(bring(store, "a", [CORRECTED])) == (0, 1, 0), "what was brought unchanged is the source's now"
        with pytest.raises(ConflictError, match=MADE_HERE) as error:
            bring(store, "a", [peru_fact("f/museum")])
        assert error.value.conflicts[0].holder == MADE_HERE
    with Store.open(path.with_name("t.duckdb"), create=True) as store:
        store.put([EDIT], lines)
        with pytest.raises(ConflictError) as error:
            bring(store, "b", [CORRECTED])
        assert error.value.conflicts[0].holder == holder and "--source" not in str(error.value)


OTHERWISE = peru_fact(old=Object(text="Arequipa"))
CUT = ScriptPrompt(key="p/1", fact="f/peru", text="How? To", offset=8, targets=("Lima", "Oslo"))


def judged(person: str, label: str) -> Verdict:
    by = f"person:{person}/filter@1"
    return Verdict(key=f"verdict/{by}/{CUT.id}", item_id=CUT.id, by=by, label=label, reason="so")  # type: ignore[arg-type]


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    """Two copies of a store with one fact and one prompt."""
    ours, theirs = tmp_path / "ours.duckdb", tmp_path / "the 'irs'.duckdb"
    with Store.open(ours, create=True) as store:
        store.put_source(ImportSource("mine", "a.csv", "1", named=True), [FACT, CUT], ACT)
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
        assert [v.by for v in store.verdicts([CUT.id])] == ["person:ann/filter@1", "person:bob/filter@1"]
        assert [c.key for c in store.split("hers").cases] == ["case/f/peru"]
        assert store.stale() == [] and store.sources_of(FACT.id) == ["mine"]
    assert merged(stores).new == 0, "a second time changes nothing"


@pytest.mark.parametrize(("who", "counts"), [(1, (1, 1, 0)), (0, (0, 0, 0))], ids=["they", "we"])
def test_what_one_of_both_changed_counts(stores: tuple[Path, Path], who: int, counts: tuple[int, int, int]) -> None:
    put(stores[who], CORRECTED)
    assert merged(stores)[:3] == counts and current(stores[0]) == {"f/peru": "Cusco"}
    assert stale(stores[0]) == ["p/1"]


@pytest.mark.parametrize(("prefer", "text"), [("ours", "Cusco"), ("theirs", "Arequipa")])
def test_what_both_changed_needs_a_word(stores: tuple[Path, Path], prefer: Preference, text: str) -> None:
    put(stores[0], CORRECTED)
    put(stores[1], OTHERWISE)
    with pytest.raises(StoreError, match="the two stores have other content for 1 key .*--keep theirs") as error:
        merged(stores)
    assert error.value.lines == ("two versions: fact f/peru",) and current(stores[0]) == {"f/peru": "Cusco"}
    result = merged(stores, prefer)
    assert result.lines == ("two versions: fact f/peru",) and current(stores[0]) == {"f/peru": text}
    with Store.open(stores[0]) as store:
        assert {store.get(fact.id) for fact in (FACT, CORRECTED, OTHERWISE)} == {
            FACT,
            CORRECTED,
            OTHERWISE,
        }


def test_two_judgements_of_one_person(stores: tuple[Path, Path]) -> None:
    put(stores[0], judged("ann", "keep"))
    put(stores[1], judged("ann", "drop"))
    assert merged(stores).two_versions == 1
    with Store.open(stores[0]) as store:
        assert [v.label for v in store.verdicts([CUT.id])] == ["keep"]


def test_a_store_of_an_earlier_version(stores: tuple[Path, Path]) -> None:
    put(stores[1], make_fact("Chad", key="f/chad"))
    forget_origins(stores[1])
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
