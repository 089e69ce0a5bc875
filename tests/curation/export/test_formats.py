"""Splits in every format, and splits of facts in other people's shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from curation.export.elken_format import elken_rows
from curation.export.fact_formats import (
    cf_rows,
    cloze,
    counterfact_rows,
    easyedit_rows,
    fact_rows,
    t_rows,
)
from curation.export.formats import EXPORTERS, chosen_exporter, export
from curation.export.parquet import EVENT_TABLES, TABLES, write_parquet
from curation.export.publish import publish
from curation.loaders import load
from curation.loaders.importer import import_file, import_split
from curation.rules.release import freeze
from curation.rules.rule import DocumentRule, EventRule
from curation.splits.split_file import Extras, Split, load_split, make_split
from curation.store.store import Store
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.extras import Extra
from schemas.facts import Entity, Relation
from tests.support.documents.records import document_case
from tests.support.events import event_case, make_event, make_fact_question
from tests.support.facts import peru_fact
from tests.support.small import SMALL, small_split

EVENTS = make_split("events", [event_case(f"case/{n:03}") for n in range(100)])
DOCUMENTS = make_split("documents", [document_case(f"case/{n:03}") for n in range(100)])


OWN = {"events": ("elken", "parquet", "datasets"), "documents": ("mulfe", "mulfe-dev")}


@pytest.mark.parametrize("split", [EVENTS, DOCUMENTS], ids=lambda split: split.name)
def test_which_shapes_hold_events_and_documents(tmp_path: Path, split: Split) -> None:
    for name in EXPORTERS.names():
        assert EXPORTERS.get(name).holds(split) == (name in ("split", *OWN[split.name])), name
    assert not any(EXPORTERS.get(name).holds(small_split()) for name in ("elken", "mulfe", "mulfe-dev"))
    with pytest.raises(UserError, match=f"'{split.name}' has no case that counterfact can hold"):
        export(split, tmp_path / "x.json", "counterfact")


@pytest.mark.parametrize("name", [("ScEdit-CF.json", "scedit-cf"), ("ScEdit-T.json", "scedit-t")])
def test_the_shipped_shapes_are_those_of_the_split(tmp_path: Path, name: tuple[str, str]) -> None:
    export(small_split(), tmp_path / "x.json", name[1])
    written = json.loads((tmp_path / "x.json").read_text())
    shipped = json.loads((SMALL.parent / name[0]).read_text())
    assert [{k: v for k, v in row.items() if k != "source"} for row in written] == shipped


@pytest.mark.parametrize("name", EXPORTERS.names())
def test_a_place_that_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    split = next(s for s in (small_split(), EVENTS, DOCUMENTS) if EXPORTERS.get(name).holds(s))
    with pytest.raises(UserError, match="cannot be written: (a file stands|File exists|Not a dir)") as error:
        export(split, tmp_path / "file" / "x", name)
    assert "\n" not in str(error.value)


def test_a_table_comes_back_as_the_edited_facts(tmp_path: Path) -> None:
    assert export(small_split(), tmp_path / "x.csv", "csv") == len(small_split().cases)
    loaded = load(tmp_path / "x.csv")
    assert not loaded.problems
    for fact, case in zip(loaded.facts, small_split().cases, strict=True):
        wanted = case.fact
        assert (fact.key, fact.fact_prompt, fact.old.names, fact.paraphrases) == (
            wanted.key,
            wanted.fact_prompt,
            wanted.old.names,
            wanted.paraphrases,
        )
        assert fact.new and wanted.new and fact.new.names == wanted.new.names and fact.changed_on == wanted.changed_on


def test_a_card_says_what_the_store_knows(tmp_path: Path) -> None:
    import_split(small_split(), tmp_path / "s.duckdb", origin="mini")
    with Store.open(tmp_path / "s.duckdb") as store:
        export(small_split(), tmp_path / "with", "datasets", store=store)
    export(small_split(), tmp_path / "without", "datasets")
    cards = [(tmp_path / name / "README.md").read_text() for name in ("with", "without")]
    assert ["as the store's lineage has it" in card for card in cards] == [True, False]


CASE = event_case()


def test_a_record_has_the_published_fields() -> None:
    (row,) = elken_rows([CASE])
    assert list(row) == ["event_type", "event", "tendency", "fact", "source"]
    assert [q["answer"]["name"] for q in row["fact"]["qas"]] == ["Alba Rail", "unknown"]
    assert row["fact"]["local_qas"][0]["answer"] == {"id": "NA", "name": "Genoa", "alias": []}
    assert "type" in row["fact"]["qas"][0] and "type" not in row["fact"]["local_qas"][0]
    assert row["tendency"]["local_qas"] == [
        {
            "question": "How may rainfall in Genoa change?",
            "candidate": "(A) They rise (B) They fall (C) They stay as they are",
            "answer": "C",
        }
    ]


def test_the_published_file_comes_back_record_by_record(shared: Path, tmp_path: Path) -> None:
    source, store = shared / "data/elken/test.json", tmp_path / "s.duckdb"
    import_file(str(source), store)
    with Store.open(store, write=True) as db:
        split = freeze(db, "e", EventRule())
        assert export(split, tmp_path / "out.json", "elken") == len(split.all_cases)
    before, after = load(source), load(tmp_path / "out.json")
    keys = {e.key for e in before.events} - {e.key for e in after.events}
    assert not {r.event for r in before.records if hasattr(r, "event")} & keys
    assert {r.id for r in after.records} == {r.id for r in before.records}
    assert {e.id for e in after.events} <= {e.id for e in before.events} and len(keys) <= 1


@pytest.mark.parametrize(("part", "format"), [("test", "mulfe"), ("dev", "mulfe-dev")])
def test_the_published_file_comes_back_row_by_row(shared: Path, tmp_path: Path, part: str, format: str) -> None:
    source, store = shared / f"data/mulfe/mulfe_{part}.json", tmp_path / "s.duckdb"
    import_file(str(source), store)
    with Store.open(store, write=True) as db:
        split = freeze(db, "m", DocumentRule())
        assert export(split, tmp_path / "out.json", format) == {"test": 228, "dev": 300}[part]
    before = {row["id"]: row for row in json.loads(source.read_text())}
    after = {row["id"]: row for row in json.loads((tmp_path / "out.json").read_text())}
    if part == "test":  # white space at two ends is the only thing that is lost
        probe = before["mulfe_test_dune_9"]["probes"][6]
        probe["query"] = probe["query"].strip()
        before["mulfe_test_dune_186"]["doc"] = before["mulfe_test_dune_186"]["doc"].strip()
    assert after == before


def test_extras_go_into_a_table_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    keys = [c.fact.key for c in small_split().cases[:3]]
    holding = [
        Extra.holding(f"{k}/x", {"n": n, "é": [None]}, subject_key=k, name="hops", depends_on=keys[:n])
        for n, k in enumerate(keys)
    ]
    split = small_split()._replace(extras=Extras(holding))
    publish(split, tmp_path / "r")
    rows = list(datasets.load_dataset(str(tmp_path / "r"), "extras", split="test", cache_dir=str(tmp_path / "cache")))
    extras = [
        Extra(key=r["extra"], subject_key=r["fact"], depends_on=r["also"], name=r["name"], content=r["content"])
        for r in rows
    ]
    assert extras == holding
    assert load_split(tmp_path / "r" / "mini.jsonl").extras == split.extras
    data = json.loads((tmp_path / "r" / "croissant.json").read_text(encoding="utf-8"))
    assert "extras" in {r["name"] for r in data["recordSet"]}
    card = (tmp_path / "r" / "README.md").read_text(encoding="utf-8")
    assert "- config_name: extras" in card and "### extras" in card
    publish(small_split(), tmp_path / "without")
    assert not (tmp_path / "without" / "data" / "extras.parquet").exists()


def test_every_column_says_what_is_in_it_and_no_name_stands_twice() -> None:
    for columns in (TABLES | EVENT_TABLES).values():
        assert all(c.about and c.type.removesuffix("[]").isupper() for c in columns)
        assert len({c.name for c in columns}) == len(columns)


def test_cases_name_the_part_that_they_belong_to(tmp_path: Path) -> None:
    cases = small_split().cases[:3]
    parts = {"divided_by": ["subject"], "dev": [cases[0].key], "test": [cases[1].key]}
    publish(make_split("s", cases, details={"parts": parts}), tmp_path / "r", formats=("parquet",))
    written = {row["case"]: row["part"] for row in rows(tmp_path / "r" / "data", "cases")}
    assert written == {cases[0].key: "dev", cases[1].key: "test", cases[2].key: None}
    card = (tmp_path / "r" / "README.md").read_text(encoding="utf-8")
    assert "the column `part` of `cases` tells dev and test apart" in card
    assert "| `part` | VARCHAR | part of the split: dev or test |" in card
    assert '"cases/part"' in (tmp_path / "r" / "croissant.json").read_text(encoding="utf-8")


ROLES = [{"role": "Buyer", "entity": {"text": "Alba Rail"}}, {"role": "B", "entity": {"text": "Brenta Rail"}}]
PATH = make_fact_question("Who?", "B", path=("P54", "P118"), background=True, subject={"text": "B", "aliases": ["Bb"]})
EVENT_CASE = event_case(event=make_event(roles=ROLES, template="merger"))
EVENT_CASE = EVENT_CASE.model_copy(update={"facts": (*EVENT_CASE.facts, PATH)})


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    records = duckdb.sql(f"SELECT * FROM '{folder / name}.parquet'")
    return [dict(zip(records.columns, row, strict=True)) for row in records.fetchall()]


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    assert write_parquet(make_split("s", [EVENT_CASE]), tmp_path / "data") == 1
    (event,) = rows(tmp_path / "data", "events")
    assert (event["roles"], event["entities"]) == (["Buyer", "B"], ["Alba Rail", "Brenta Rail"])
    assert (event["text"], event["template"], event["licence"]) == (EVENT_CASE.event.text, "merger", "CC0-1.0")
    facts = rows(tmp_path / "data", "fact_questions")
    assert [(q["text"], q["answer"], q["scope"]) for q in facts] == [
        (q.text, q.answer.text, q.scope) for q in EVENT_CASE.facts
    ]
    assert all(q["subject"] is None and q["background"] is False for q in facts[:-1])
    last = facts[-1]
    assert (last["path"], last["background"], last["subject_aliases"]) == (["P54", "P118"], True, ["Bb"])
    likely = rows(tmp_path / "data", "tendency_questions")
    assert [q["options"] for q in likely] == [list(q.options) for q in EVENT_CASE.tendencies]
    assert {q["about_event_subject"] for q in likely} == {None}


def shape(record: dict[str, object]) -> dict[str, type]:
    return {name: type(value) for name, value in record.items()}


def bare(key: str, **changes: Any) -> Case:
    return Case(key=f"case/{key}", fact=peru_fact(key, **changes))


def test_case_ids_of_counterfact_stay_and_others_get_free_numbers() -> None:
    keys = ["counterfact/1", "counterfact/007", "mine/a", "mine/b", "counterfact/0"]
    rows = counterfact_rows([Case(key=f"case/{k}", fact=peru_fact(k)) for k in keys])
    assert [row["case_id"] for row in rows] == [1, 2, 3, 4, 0]


def test_what_counterfact_said_beside_goes_back_and_nothing_else() -> None:
    record = {"attribute_prompts": ["x"], "generation_prompts": ["own", "How?"], "pararel_idx": 7, "colour": "red"}
    wrong = {"attribute_prompts": "x", "pararel_idx": "7"}
    extras = Extras(
        [
            Extra.holding("a/fields", record, subject_key="a", name="fields"),
            Extra.holding("a/other", {"pararel_idx": 9}, subject_key="a", name="popularity"),
            Extra.holding("b/fields", wrong, subject_key="b", name="fields"),
        ]
    )
    one, two = counterfact_rows([bare("a"), bare("b")], extras)
    assert (one["attribute_prompts"], one["generation_prompts"], one["pararel_idx"]) == (["x"], ["own", "How?"], 7)
    assert two["attribute_prompts"] == [] and "pararel_idx" not in two, "a field of another type is not ours to give"
    assert "colour" not in one


def test_each_fact_is_written_once_and_the_edited_ones_first() -> None:
    split = small_split()
    shared = split.cases[0].neighbours
    split = split._replace(
        all_cases=[c.model_copy(update={"neighbours": (*c.neighbours, *shared)}) for c in split.cases]
    )
    rows = list(fact_rows(split.cases))
    keys = [c.fact.key for c in split.cases]
    assert [r["key"] for r in rows[: len(keys)]] == keys
    assert len({(r["key"], json.dumps(r)) for r in rows}) == len(rows)
    assert {r["key"] for r in rows} == {*keys, *(n.fact.key for c in split.cases for n in c.neighbours)}


def test_the_lists_for_easyedit_come_on_request_and_only_there() -> None:
    split = small_split()
    record = {"portability": {"Script", "Paraphrase"}, "locality": {"Neighbour", "Script_Neighbour"}}
    for plain, full in zip(easyedit_rows(split.cases), easyedit_rows(split.cases, True), strict=True):
        assert all(plain[part].keys() == names for part, names in record.items())
        assert {k: {n: full[k][n] for n in v} if k in record else full[k] for k, v in plain.items()} == plain
    assert "--knowedit-lists" in chosen_exporter("easyedit").gaps[0]
    with pytest.raises(UserError, match="easyedit"):
        chosen_exporter("counterfact", knowedit_lists=True)


@pytest.mark.parametrize(
    ("name", "make"), [("shape_example_cf.json", cf_rows), ("shape_example_t.json", t_rows)], ids=["cf", "t"]
)
def test_the_published_shapes(shared: Path, name: str, make: object) -> None:
    example = json.loads((shared / "data" / "scedit" / name).read_text())[0]
    converted = next(make(small_split().cases))  # type: ignore[operator]
    assert converted.pop("source")["name"] and shape(converted) == shape(example)
    if "neighborhood" in example:
        assert shape(converted["neighborhood"][0]) == shape(example["neighborhood"][0])


def test_a_separator_that_is_no_space_stays_with_the_prompt() -> None:
    """Others' evaluators add one space and the target; ours would stand directly behind the bracket."""
    for case in (small_split().cases[0], small_split().cases[-1]):
        prompt = case.prompts[0]
        open_prompt = prompt.model_copy(update={"separator": " (", "offset": len(prompt.text) + 2})
        variant = case.model_copy(update={"prompts": (open_prompt,)})
        record = next(easyedit_rows([variant]))["portability"]["Script"]
        assert [s["prompt"] for s in record] == [prompt.text + " ("]
        problems = [p for r in cf_rows([variant]) for p in r["rephrase_prompts"]]
        problems += [p for r in t_rows([variant]) for p in r["question"]]
        assert problems == [prompt.text + " ("]


def test_a_case_without_prompts_and_neighbours() -> None:
    case = Case(key="case/f", fact=peru_fact("f", relation=Relation(id="P36")))
    (row,) = cf_rows([case])
    assert [row[k] for k in ("rephrase_prompts", "neighborhood_prompts", "interrupt_step", "generation_prompts")] == [
        []
    ] * 4
    assert row["property"] == "P36", "the id stands where there is no label"
    assert not list(t_rows([case]))
    temporal = case.model_copy(update={"fact": peru_fact("f", change="temporal")})
    (row,) = t_rows([temporal])
    assert (row["question"], row["neighborhood"], row["old_update"], row["new_update"]) == ([], [], "Lima", "Oslo")
    assert row["relation"] == "capital" and not list(cf_rows([temporal]))


def test_neighbours_of_cf_are_those_that_share_the_old_object() -> None:
    case = next(c for c in small_split().cases if c.fact.change == "counterfactual" and c.neighbours)
    (near, *_) = case.neighbours
    other = near.model_copy(update={"link": near.link.model_copy(update={"how": "near_subject"})})
    (row,) = cf_rows([case.model_copy(update={"neighbours": (near, other)})])
    assert row["neighborhood_prompts"] == [cloze(p.text, p.separator) for p in near.prompts] != []


@pytest.mark.parametrize(("kind", "change", "rows"), [("cf", "counterfactual", cf_rows), ("t", "temporal", t_rows)])
def test_cases_of_other_origins_stand_behind_with_the_lowest_free_numbers(kind: str, change: str, rows: Any) -> None:
    keys = ("a/1", f"scedit-{kind}/1", f"scedit-{kind}/a12", f"scedit-{kind}/3-of-file", "z/9", f"x/scedit-{kind}/1")
    entries = list(rows([bare(key, change=change, subject=Entity(text=key)) for key in keys]))
    numbers = {row["subject"]: row["case_id"] for row in entries}
    expected = dict(zip(keys, (0, 1, "a12", 2, 3, 4), strict=True))
    assert numbers == expected, "a text stays one; a number that stands twice is free for the first alone"
    assert [row["case_id"] for row in entries] == [1, "a12", 0, 2, 3, 4], "cases of no ScEdit file come last"
