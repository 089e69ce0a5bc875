"""What was made from content that changed is stale, by whatever road the change came; freezing refuses it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from curation.rules.explain import explain
from curation.rules.release import freeze, release
from curation.rules.rule import SplitRule
from curation.store.backup import dump, rebuild
from curation.store.import_sources import ImportSource
from curation.store.origins import MADE_FROM, StaleError, origin_rows
from curation.store.store import KINDS, Store
from schemas.core.errors import UserError
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour, Object
from schemas.lineage import Lineage
from schemas.ratings import Rating
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict
from tests.support.facts import make_fact, peru_fact

FACT, OTHER = peru_fact(), make_fact("Chad", "Lima", "Rome", key="f/chad")
CORRECTED = peru_fact(old=Object(text="Cusco"))
QUESTION = ScriptQuestion(key="q/1", fact="f/peru", text="How do I send a letter to the government of Peru?")
SCRIPT = Script(key="s/1", question="q/1", steps=("Write it", "Send it to Lima"))
PROMPT = ScriptPrompt(
    key="p/1", fact="f/peru", question="q/1", script="s/1", text="How? Step 1: To", offset=16, targets=("Lima", "Oslo")
)
LINK = Neighbour(key="n/1", edit="f/peru", fact="f/chad", how="same_object")
EXTRA = Extra.holding("f/peru/extra", 1, subject_key="f/peru", name="popularity")
MADE = [QUESTION, SCRIPT, PROMPT, LINK, EXTRA]
JUDGED = Verdict(key="v/1", item_id=PROMPT.id, by="leak@1", label="keep")
BESIDE = Verdict(key="v/2", item_id="x", by="fit@1", label="keep", related=(LINK.id,))
ACT = Lineage(item_id="", stage="load", made_at="2026-01-01T00:00:00")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        store.put_source(ImportSource("mine", "a.csv", "1", named=True), [FACT, OTHER], ACT)
        store.put([*MADE, JUDGED, BESIDE.model_copy(update={"item_id": PROMPT.id})])
    return path


def stale(path: Path) -> list[str]:
    with Store.open(path) as store:
        return [item.key for item in store.stale()]


def by_import(store: Store) -> None:
    store.put_source(ImportSource("mine", "b.csv", "2", named=True), [CORRECTED, OTHER], ACT)


def by_taking_over(store: Store) -> None:
    store.put_source(ImportSource("other", "b.csv", "2", named=True), [CORRECTED], ACT, whole=False, replace=True)


def by_construct(store: Store) -> None:
    store.put([CORRECTED])


ALL = ["f/peru/extra", "n/1", "p/1", "q/1", "s/1", "v/1", "v/2"]


@pytest.mark.parametrize("road", [by_import, by_construct])
def test_whatever_was_made_of_a_changed_fact_is_stale(path: Path, road: object) -> None:
    assert stale(path) == []
    with Store.open(path, write=True) as store:
        road(store)  # type: ignore[operator]
        with pytest.raises(StaleError, match="7 records were made from content that has changed since") as error:
            freeze(store, "mine", SplitRule())
        assert "stale: prompt p/1: made from an earlier version of f/peru" in error.value.lines
        assert [name for name, *_ in store.split_names()] == []
        for item in ("case/f/peru", "p/1", "q/1"):
            explanation = explain(store, SplitRule(), item)
            assert explanation.status == "held" and "made from an earlier version of f/peru" in explanation.why
        judged = {v.key for v in store.verdicts()}
        assert {"v/1", "v/2"} <= judged and not {"v/1", "v/2"} & {v.key for v in store.verdicts(stale=False)}
    assert stale(path) == ALL


def test_what_is_taken_over_from_another_source_leaves_nothing_behind(path: Path) -> None:
    with Store.open(path, write=True) as store:
        by_taking_over(store)
        assert store.stale() == [] and list(store.all(ScriptPrompt)) == []


def test_a_neighbour_that_changed_makes_its_links_stale(path: Path) -> None:
    with Store.open(path, write=True) as store:
        store.put([make_fact("Chad", "Cusco", "Rome", key="f/chad")])
    assert stale(path) == ["n/1", "v/2"]


def test_a_question_that_changed_makes_scripts_prompts_and_judgements_stale(path: Path) -> None:
    with Store.open(path, write=True) as store:
        store.put([QUESTION.model_copy(update={"text": "How else?"})])
    assert stale(path) == ["p/1", "s/1", "v/1", "v/2"]


def test_the_content_before_again_makes_nothing_stale(path: Path) -> None:
    with Store.open(path, write=True) as store:
        store.put([CORRECTED])
        store.put([FACT])
    assert stale(path) == []


def test_what_comes_again_is_made_from_what_is_there_now(path: Path) -> None:
    with Store.open(path, write=True) as store:
        store.put([CORRECTED, *MADE])
        assert [item.key for item in store.stale()] == ["v/1", "v/2"], "judgements were given for the earlier fact"
        assert store.judged("leak@1") == set(), "so the check asks again"
        store.put([JUDGED])
        assert store.judged("leak@1") == {PROMPT.id}


def test_confirming(path: Path) -> None:
    with Store.open(path, write=True) as store:
        store.put([QUESTION.model_copy(update={"text": "How else?"}), make_fact("Chad", "Cusco", "Rome", key="f/chad")])
        assert sorted(item.key for item in store.confirm(["q/1"])) == ["p/1", "s/1", "v/1", "v/2"]
        assert [item.key for item in store.stale()] == ["n/1", "v/2"]
        store.confirm(["f/chad"])
        assert store.stale() == []
        with pytest.raises(UserError, match="nothing is stale because of q/1"):
            store.confirm(["q/1"])


def test_what_is_made_anew_takes_the_place_of_what_was_made_here_only(path: Path) -> None:
    mine = ScriptQuestion(key="q/mine", fact="f/peru", text="How do I move?")
    with Store.open(path, write=True) as store:
        store.put([mine], [Lineage(item_id=mine.id, stage="adopt", made_at="2026-01-01T00:00:00")])
        store.put([CORRECTED])
        store.put([CORRECTED, ScriptQuestion(key="q/new", fact="f/peru", text="How now?")], remade=["f/peru"])
        assert [q.key for q in store.all(ScriptQuestion)] == ["q/mine", "q/new"]
        assert [item.key for item in store.stale()] == ["q/mine"]


def test_what_is_left_of_a_fact_that_is_gone_is_not_stale(path: Path) -> None:
    with Store.open(path, write=True) as store:
        store.put_source(ImportSource("mine", "c.csv", "3", named=True), [OTHER], ACT)
        assert store.stale() == []
        with pytest.raises(UserError, match="no case"):
            freeze(store, "mine", SplitRule())


def test_other_facts_than_the_rule_looks_at_hinder_nothing(path: Path) -> None:
    with Store.open(path, write=True) as store:
        store.put([CORRECTED, make_fact("Mali", "Bamako", "Rome", key="g/mali")])
        store.put([ScriptPrompt(key="p/2", fact="g/mali", text="How? To", offset=8, targets=("Bamako", "Rome"))])
        assert len(freeze(store, "mali", SplitRule(prefix="g/")).cases) == 1


def test_a_split_with_stale_records_is_not_released(path: Path) -> None:
    with Store.open(path, write=True) as store:
        freeze(store, "mine", SplitRule(), version="1.0.0-candidate")
        store.put([CORRECTED])
        with pytest.raises(StaleError):
            release(store, "mine", without_sample="x")


def test_a_dump_keeps_what_records_were_made_from(path: Path, tmp_path: Path) -> None:
    with Store.open(path, write=True) as store:
        store.put([CORRECTED])
        dump(store, tmp_path / "d.jsonl")
    rebuild(tmp_path / "d.jsonl", tmp_path / "again.duckdb")
    assert stale(tmp_path / "again.duckdb") == ALL


def test_a_store_of_an_earlier_version_learns_it_from_lineage(path: Path) -> None:
    with Store.open(path, write=True) as store:
        line = {"stage": "questions", "parents": (FACT.id,)}
        store.put([CORRECTED], [Lineage(item_id=QUESTION.id, made_at="2026-01-01T00:00:00", **line)])  # type: ignore[arg-type]
    with duckdb.connect(str(path)) as db:
        db.execute("DROP TABLE origins")
        db.execute("DELETE FROM migrations WHERE name = 'm004_origins'")
    assert stale(path) == [], "a reading command migrates nothing"
    Store.open(path, write=True).close()
    assert stale(path) == ["q/1"], "of the rest nothing else is known than its key"
    assert path.with_name("s.before-m004_origins.duckdb").exists()


def test_every_kind_that_has_a_parent_has_origins() -> None:
    """A kind of record that depends on another one by its key must not be forgotten here."""
    keys = {"fact", "edit", "question", "event", "document", "subject_key", "item_id", "script"}
    dependent = {kind for kind, cls in KINDS.items() if keys & {n for n, f in cls.model_fields.items() if _is_key(f)}}
    assert dependent == set(MADE_FROM)


def _is_key(field: object) -> bool:
    return "str" in str(getattr(field, "annotation", ""))


def test_rows() -> None:
    assert list(origin_rows([FACT, CORRECTED])) == []
    assert [row[2:] for row in origin_rows([PROMPT])] == [("fact", "f/peru"), ("question", "q/1"), ("script", "s/1")]
    assert Fact.kind not in MADE_FROM and Rating.kind in MADE_FROM
