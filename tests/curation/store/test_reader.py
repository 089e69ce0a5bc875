"""Reading a store: by key, id or the beginning of an id; splits, results, counts, everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.answers import Answer, TargetScore
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour, Object
from schemas.lineage import Lineage
from schemas.runs import CaseResult
from schemas.scripts import ScriptPrompt, ScriptQuestion
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER, P0, said
from tests.support.facts import peru_fact


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


def test_unknown_items_suggest_the_nearest(path: Path) -> None:
    with Store.open(path, create=True) as store:
        store.put([peru_fact("facts/cf/P36/peru")])
        with pytest.raises(UserError, match="no item 'facts/cf/P36/per'.*did you mean 'facts/cf/P36/peru'"):
            store.get("facts/cf/P36/per")


def test_the_highest_version_is_the_last_one(path: Path) -> None:
    with Store.open(path, create=True) as store:
        for n, version in enumerate(["1.0.0-rc.2", "1.0.0", "1.0.0-rc.10", "0.9.0"]):
            store.put_split(make_split("s", [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}"))], version=version))
        assert store.split("s").version == "1.0.0"
        store.put_split(make_split("s", [Case(key="case/x", fact=peru_fact("f/x"))], version="1.1.0-rc.2"))
        store.put_split(make_split("s", [Case(key="case/y", fact=peru_fact("f/y"))], version="1.1.0-rc.10"))
        assert store.split("s").version == "1.1.0-rc.10"


def test_many_records_and_kinds(path: Path) -> None:
    facts = [peru_fact(f"f/{n:05d}") for n in range(5000)]
    with Store.open(path, create=True) as store:
        store.put(facts + [ScriptQuestion(key=f"{f.key}/q", fact=f.key, text="How?") for f in facts])
        assert [f.key for f in store.all(Fact)] == [f.key for f in facts]
        assert [q.key for q in store.all(ScriptQuestion, parent="f/00007")] == ["f/00007/q"]
        assert store.keys("question", like="f/0001", limit=3)[0][0] == "f/00010/q"


def test_an_item_by_key_before_an_id_of_the_same_spelling(path: Path) -> None:
    fact = peru_fact()
    copy = peru_fact(fact.id)  # its key is spelt like the other one's id
    with Store.open(path, create=True) as store:
        store.put([fact, copy])
        assert store.get(fact.id) == copy and store.get("f/peru") == fact
        assert store.get(copy.id[:10]) == copy


def test_a_beginning_that_several_share_or_that_is_too_short(path: Path) -> None:
    facts = [peru_fact(f"f/{n}") for n in range(3000)]
    starts: dict[str, str] = {}
    one, two = next((starts[f.id[:3]], f.id) for f in facts if starts.setdefault(f.id[:3], f.id) != f.id)
    with Store.open(path, create=True) as store:
        store.put(facts)
        with pytest.raises(UserError, match=f"no item '{one[:5]}'"):
            store.get(one[:5])
        store._db.execute("UPDATE records SET id = ? WHERE id = ?", [one[:6] + two[6:], two])
        with pytest.raises(UserError, match=f"'{one[:6]}' stands for 2 items.*more of the id"):
            store.get(one[:6])


@pytest.mark.parametrize("item", ["", "'; DROP TABLE records; --", "%", "f/per\u0301u", "\x00"])
def test_what_is_no_item_is_refused_in_one_sentence(path: Path, item: str) -> None:
    with Store.open(path, create=True) as store:
        store.put([peru_fact()])
        with pytest.raises(UserError, match="no item"):
            store.get(item)
        assert [f.key for f in store.all(Fact)] == ["f/peru"]


def test_an_empty_store_is_empty_all_through(path: Path) -> None:
    with Store.open(path, create=True) as store:
        with pytest.raises(UserError, match="scedit store list fact"):
            store.get("f/peru")
        with pytest.raises(UserError, match="none is frozen yet"):
            store.open_split("s")
        assert (list(store.all(Fact)), list(store.verdicts()), store.split_names()) == ([], [], [])
        assert list(store.everything()) == [] and store.judged("leak@1") == set() == store.known(["x"])
        stats = store.stats()
        assert (stats["records"], stats["verdicts"], stats["splits"], stats["results"]) == ({}, [], [], 0)


def test_keys_of_a_kind(path: Path) -> None:
    with Store.open(path, create=True) as store:
        store.put([EDIT, OTHER, *CHAINS[0]])
        assert [k for k, _ in store.keys("fact", like="MUSEUM")] == [OTHER.key]
        assert store.keys("fact", like="%") == [], "a percent sign is a character, no pattern"
        assert len(store.keys("fact", limit=0)) == 0 and len(store.keys("fact", limit=1)) == 1
        with pytest.raises(UserError, match="unknown kind 'colour'.*fact"):
            store.keys("colour")


def test_verdicts_of_some_items_and_by_whom(path: Path) -> None:
    custom_verdict, other = said(P0.id, "leak@1", "drop"), said("x", "leak@1", "keep", model="m")
    with Store.open(path, create=True) as store:
        store.put([custom_verdict, other, said("y", "leak@2", "keep")])
        assert list(store.verdicts([P0.id, "absent"])) == [custom_verdict]
        assert list(store.verdicts([])) == []
        assert store.judged("leak@1") == {P0.id}, "one by a model is another"
        assert store.judged("leak@1", model="m") == {"x"}
        assert store.known([custom_verdict.id, "nothing"]) == {custom_verdict.id}


def test_sizes_of_a_split_with_neighbours(path: Path) -> None:
    record = {"link": LINK, "fact": OTHER, "questions": (BESIDE[0],), "prompts": (BESIDE[2],)}
    fields = {"fact": EDIT, "questions": (CHAINS[0][0],), "prompts": (P0,), "neighbours": [record]}
    case = Case.model_validate({"key": "case/f/peru", **fields})
    with Store.open(path, create=True) as store:
        store.put_split(make_split("s", [case, Case(key="case/b", fact=peru_fact("b"))]))
        assert store.split_sizes("s@1.0.0") == (1, 1)
        assert store.split_sizes("absent@1.0.0") == (0, 0)


def test_cases_that_are_no_longer_those_frozen(path: Path) -> None:
    split = make_split("s", [Case(key="case/a", fact=peru_fact("a")), Case(key="case/b", fact=peru_fact("b"))])
    with Store.open(path, create=True) as store:
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


def test_extras_follow_the_facts_of_a_split(path: Path) -> None:
    extra = Extra.holding("a/x", 1, subject_key="a", name="x")
    with Store.open(path, create=True) as store:
        store.put([extra, Extra.holding("z/x", 1, subject_key="z", name="x")])
        store.put_split(make_split("s", [Case(key="case/a", fact=peru_fact("a"))]))
        assert list(store.open_split("s").extras) == [extra]


def test_lineage_oldest_first_and_by_stage(path: Path) -> None:
    def line(stage: str, made_at: str) -> Lineage:
        return Lineage(item_id="i", stage=stage, made_at=made_at)

    late, early = line("check", "2026-02-01T00:00:00"), line("load", "2026-01-01T00:00:00")
    with Store.open(path, create=True) as store:
        store.put([], [late, early])
        assert store.lineage("i") == [early, late] and store.lineage("j") == []
        assert list(store.lineages()) == [early, late] and list(store.lineages(stage="check")) == [late]


def test_everything_comes_with_every_version(path: Path) -> None:
    answer = Answer(probe="p", targets=(TargetScore(text="a", logprob=float("-inf"), tokens=1),))
    with Store.open(path, create=True) as store:
        store.put([peru_fact(), LINK], [Lineage(item_id="i", stage="load", made_at="2026-01-01T00:00:00")])
        store.put([peru_fact(old=Object(text="Cusco"))])
        store._db.execute("INSERT INTO results VALUES ('r', 'c', ?)", [_result(answer).model_dump_json()])
        result = list(store.everything())
    assert [kind for kind, _ in result] == ["records", "records", "records", "lineage", "results", "origins"]
    facts = {v["body"]["old"]["text"]: v["current"] for w, v in result if w == "records" and v["kind"] == "fact"}
    assert facts == {"Lima": False, "Cusco": True}


def _result(answer: Answer) -> CaseResult:
    return CaseResult(run="r", case="c", answers=(answer,))


@pytest.mark.parametrize("write", [True, False])
def test_a_copy_of_a_path_with_quotes(tmp_path: Path, write: bool) -> None:
    path, copy = tmp_path / 'it\'s a "store".duckdb', tmp_path / "it's a copy.duckdb"
    with Store.open(path, create=True) as store:
        store.put([peru_fact()])
    with Store.open(path, write=write) as store:
        store.copy_to(copy)
        assert store.get("f/peru") == peru_fact(), "the store goes on"
    with Store.open(copy) as store:
        assert store.get("f/peru") == peru_fact()


def test_reading_goes_on_while_another_reading_is_in_hand(path: Path) -> None:
    with Store.open(path, create=True) as store:
        store.put([peru_fact(f"f/{n:04d}") for n in range(5000)])
        first = store.all(Fact)
        next(first)
        assert sum(1 for _ in store.all(Fact)) == 5000
        assert sum(1 for _ in first) == 4999


def test_kinds_are_not_mixed(path: Path) -> None:
    with Store.open(path, create=True) as store:
        store.put([EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])
        assert [len(list(store.all(c))) for c in (Fact, Neighbour, ScriptQuestion, ScriptPrompt)] == [2, 1, 2, 2]
        assert [p.key for p in store.all(ScriptPrompt, parent=EDIT.key)] == [P0.key]
