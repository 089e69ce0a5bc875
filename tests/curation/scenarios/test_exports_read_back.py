"""Splits exported and read back: by our loaders, as far as a format carries them, and as other people's readers do."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from curation.export.fact_formats import cloze
from curation.export.formats import chosen_exporter, export
from curation.export.parquet import TABLES
from curation.loaders import load
from curation.loaders.importer import Identity, import_file
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.shipped import shipped_split
from curation.splits.split_file import Split, load_split, make_split
from curation.store.store import Store
from schemas.cases import Case, CaseNeighbour
from schemas.facts import Entity, Fact, Neighbour, Object, Relation, Source
from schemas.scripts import ScriptPrompt, ScriptQuestion
from tests.support.curation.rule_outcomes import choose
from tests.support.facts import peru_fact
from tests.support.small import small_split

QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LETTERS = "abcXYZ éßÇñ中ア\u0301'\"|,;\\/\t\n<&%$#@—\u00a0\u2028😀0123"
texts = st.text(alphabet=LETTERS, min_size=1, max_size=20).map(str.strip).filter(bool)
lists = st.lists(texts, max_size=3).map(tuple)
qids = st.none() | st.integers(1, 10**9).map("Q{}".format)
days = st.none() | st.sampled_from(["2021", "2021-12", "2021-12-08"])


@st.composite
def made_facts(draw: st.DrawFn, key: str = "made/1", *, edit: bool = True) -> Fact:
    change = draw(st.sampled_from(["counterfactual", "temporal"])) if edit else "none"
    old = draw(texts)
    new = draw(texts.filter(lambda t: t.casefold() != old.casefold()))
    others = lists.map(lambda names: tuple(t for t in names if t.casefold() not in (old.casefold(), new.casefold())))
    source = Source(name=draw(texts), licence=draw(texts), url=draw(st.none() | texts), item=draw(st.none() | texts))
    return Fact(
        key=key,
        subject=Entity(text=draw(texts), aliases=draw(lists), wikidata=draw(qids)),
        relation=Relation(id=draw(st.sampled_from(["P36", "template:x", "größe"])), label=draw(st.just("") | texts)),
        prompt=draw(st.builds("{} {{}} {}".format, texts, texts)),
        old=Object(
            text=old, aliases=draw(others), wikidata=draw(qids), datatype=draw(st.sampled_from(["entity", "x"]))
        ),
        new=Object(text=new, aliases=draw(others), wikidata=draw(qids)) if edit else None,
        paraphrases=draw(lists),
        neighbour_prompts=draw(lists),
        change=change,
        changed_on=draw(days) if change == "temporal" else None,
        source=source,
    )


@st.composite
def made_cases(draw: st.DrawFn, n: int) -> Case:
    key = f"made/{n}"
    neighbours = []
    for k in range(draw(st.integers(0, 2))):
        neighbour = draw(made_facts(f"{key}/n{k}", edit=False))
        strategy = draw(st.sampled_from(["same_object", "near_subject"]))
        distance = draw(st.none() | st.floats(0, 9))
        link = Neighbour(key=f"{key}~{k}", edit=key, fact=neighbour.key, how=strategy, distance=distance, measure="km")
        question, cut = draw(material(neighbour.key))
        neighbours.append(CaseNeighbour(link=link, fact=neighbour, questions=question, prompts=cut))
    questions, prompts = draw(material(key))
    edit = draw(made_facts(key))
    return Case(key=f"case/{key}", fact=edit, questions=questions, prompts=prompts, neighbours=tuple(neighbours))


@st.composite
def material(draw: st.DrawFn, key: str) -> tuple[tuple[ScriptQuestion, ...], tuple[ScriptPrompt, ...]]:
    questions, prompts = [], []
    for k in range(draw(st.integers(0, 2))):
        questions.append(ScriptQuestion(key=f"{key}/q{k}", fact=key, text=draw(texts)))
        text, separator = draw(texts), draw(st.sampled_from([" ", " (", "\n", ' "', ""]))
        prompts.append(
            ScriptPrompt(
                key=f"{key}/p{k}",
                fact=key,
                question=draw(st.sampled_from([None, f"{key}/q{k}"])),
                script=draw(st.none() | st.just(f"{key}/s{k}")),
                text=text,
                separator=separator,
                offset=len(text) + len(separator),
                step=draw(st.none() | st.integers(1, 9)),
                targets=draw(st.lists(texts, min_size=1, max_size=2).map(tuple)),
            )
        )
    return tuple(questions), tuple(prompts)


@st.composite
def made_splits(draw: st.DrawFn) -> Split:
    return make_split("made", [draw(made_cases(n)) for n in range(draw(st.integers(1, 3)))])


def exported(split: Split, folder: Path, format: str) -> Path:
    """A fresh place with the export."""
    place = folder / format / str(len(list(folder.rglob("*"))))
    export(split, place, format)
    return place


@QUICK
@given(split=made_splits())
def test_the_split_file_keeps_everything(tmp_path: Path, split: Split) -> None:
    assert load_split(exported(split, tmp_path, "split")) == split


@QUICK
@given(split=made_splits())
def test_facts_keep_every_field(tmp_path: Path, split: Split) -> None:
    import_result = load(exported(split, tmp_path, "facts"), "jsonl")
    facts = [c.fact for c in split.cases] + [n.fact for c in split.cases for n in c.neighbours]
    assert not [p for p in import_result.problems if p.lost]
    assert list(import_result.facts) == facts


@settings(QUICK, max_examples=6, phases=[Phase.explicit, Phase.generate])  # shrinking would write tables for minutes
@given(split=made_splits())
def test_tables_keep_everything(tmp_path: Path, split: Split) -> None:
    assert from_tables(exported(split, tmp_path, "parquet")) == list(split.cases)


def told(fact: Fact) -> dict[str, Any]:
    """What CounterFact's original shape says of a fact."""
    assert fact.new is not None
    objects = [(o.text, o.wikidata) for o in (fact.old, fact.new)]
    return {"subject": fact.subject.text, "relation": fact.relation.id, "prompt": fact.prompt, "objects": objects} | {
        "paraphrases": fact.paraphrases
    }


@QUICK
@given(split=made_splits())
def test_counterfact_keeps_what_it_can_say(tmp_path: Path, split: Split) -> None:
    cases = [c for c in split.cases if c.fact.change == "counterfactual"]
    if not cases:
        return
    import_result = load(exported(split, tmp_path, "counterfact"), "counterfact")
    assert not [p for p in import_result.problems if p.lost]
    assert [told(f) for f in import_result.facts] == [told(c.fact) for c in cases]
    for fact, case in zip(import_result.facts, cases, strict=True):
        assert fact.neighbour_prompts[: len(case.fact.neighbour_prompts)] == case.fact.neighbour_prompts


@QUICK
@given(split=made_splits())
def test_easyedit_records_are_read_as_flat_ones(tmp_path: Path, split: Split) -> None:
    import_result = load(exported(split, tmp_path, "easyedit"), "counterfact-flat")
    assert not [p for p in import_result.problems if p.lost]
    for fact, case in zip(import_result.facts, split.cases, strict=True):
        assert fact.fact_prompt == case.fact.fact_prompt and fact.subject.text == case.fact.subject.text
        assert (fact.old.text, fact.new and fact.new.text) == (case.fact.old.text, case.fact.new and case.fact.new.text)
        assert fact.paraphrases == case.fact.paraphrases[:1]
        if case.fact.neighbour_prompts:
            assert fact.neighbour_prompts == case.fact.neighbour_prompts[:1]


def from_tables(folder: Path) -> list[Case]:
    """Cases put together from the Parquet tables alone."""
    rows: dict[str, list[dict[str, Any]]] = {}
    with duckdb.connect() as db:
        for name, columns in TABLES.items():
            records = db.execute(f"SELECT * FROM read_parquet('{folder / name}.parquet')").fetchall()
            rows[name] = [dict(zip([c.name for c in columns], row, strict=True)) for row in records]
    questions: dict[Any, list[ScriptQuestion]] = defaultdict(list)
    prompts: dict[Any, list[ScriptPrompt]] = defaultdict(list)
    neighbours: dict[Any, list[CaseNeighbour]] = defaultdict(list)
    for row in rows["questions"]:
        at = row.pop("case"), row.pop("neighbour")
        questions[at].append(ScriptQuestion(key=row.pop("question"), **row))
    for row in rows["prompts"]:
        at = row.pop("case"), row.pop("neighbour")
        prompts[at].append(ScriptPrompt(key=row.pop("prompt"), **row))
    for row in rows["neighbours"]:
        at = row["case"], row["neighbour"]
        link = {name: row[name] for name in ("how", "distance", "measure")}
        neighbour = CaseNeighbour(
            link=Neighbour(key=row["neighbour"], edit=row["case"].removeprefix("case/"), fact=row["fact"], **link),
            fact=from_row(row),
            questions=tuple(questions[at]),
            prompts=tuple(prompts[at]),
        )
        neighbours[row["case"]].append(neighbour)
    return [
        Case(
            key=row["case"],
            fact=from_row(row),
            questions=tuple(questions[row["case"], None]),
            prompts=tuple(prompts[row["case"], None]),
            neighbours=tuple(neighbours[row["case"]]),
        )
        for row in rows["cases"]
    ]


def from_row(row: dict[str, Any]) -> Fact:
    def named(name: str) -> dict[str, Any]:
        return {"text": row[name], "aliases": row[f"{name}_aliases"], "wikidata": row[f"{name}_wikidata"]}

    source = {k: row[f"source_{k}"] for k in ("url", "item", "date")} | {"name": row["source"]}
    fields = {k: row[k] for k in ("prompt", "paraphrases", "neighbour_prompts", "change", "changed_on")}
    fields |= {"key": row["fact"], "subject": named("subject"), "source": {**source, "licence": row["licence"]}}
    fields |= {"relation": {"id": row["relation"], "label": row["relation_label"]}}
    fields |= {"old": {**named("old"), "datatype": row["old_datatype"]}}
    fields |= {"new": {**named("new"), "datatype": row["new_datatype"]} if row["new"] is not None else None}
    return Fact.model_validate(fields)


@pytest.mark.parametrize("format", ["counterfact", "easyedit", "scedit-cf", "scedit-t", "elken", "mulfe", "mulfe-dev"])
def test_a_record_read_back_has_the_source_that_it_came_from(tmp_path: Path, format: str) -> None:
    split = {"elken": shipped_split("events"), "mulfe": shipped_split("documents")}.get(format[:5], small_split())
    edits = {case.request.source for case in split.all_cases}
    loaded = load(exported(split, tmp_path, format))
    found = {edit.source for edit in (*loaded.facts, *loaded.events, *loaded.documents)}
    assert found and found <= edits
    assert not any("source" in record.value for record in loaded.records if record.key.endswith("/extra/fields"))


@pytest.mark.parametrize("format", ["scedit-cf", "scedit-t"])
@pytest.mark.parametrize("ids", [[0, 8, 9, 12, 70, "b7"], [3, 4]])
@pytest.mark.parametrize("prefix", [None, "second"])
def test_ids_and_order_of_a_file_come_back(tmp_path: Path, format: str, ids: list[Any], prefix: str | None) -> None:
    """File -> store -> split -> file, also after a dump of the split and a reading of it, and with a case left out."""
    records = json.loads(exported(small_split(), tmp_path, format).read_text(encoding="utf-8"))[: len(ids)]
    records = [{**record, "case_id": number} for record, number in zip(records, ids, strict=True)]
    (file := tmp_path / "in.json").write_text(json.dumps(records), encoding="utf-8")
    import_file(str(file), store := tmp_path / "s.duckdb", identity=Identity(prefix=prefix))
    with Store.open(store, write=True) as opened:
        split = freeze(opened, "s", SplitRule(min_prompts=0), version="1.0.0")
        assert json.loads(exported(split, tmp_path, format).read_text(encoding="utf-8")) == records
        kept = load_split(exported(split, tmp_path, "split"))
        assert split.digest == kept.digest == make_split("s", list(split.cases)).digest
    assert json.loads(exported(kept, tmp_path, format).read_text(encoding="utf-8")) == records
    left_out = records[1]["subject"]
    less = make_split("s", [c for c in kept.cases if c.fact.subject.text != left_out])
    less = less._replace(extras=kept.extras)
    left = json.loads(exported(less, tmp_path, format).read_text(encoding="utf-8"))
    assert left == [record for record in records if record["subject"] != left_out]


def test_the_real_grouped_counterfact_file(shared: Path, tmp_path: Path) -> None:
    """Loader -> store -> exporter: the records of the file, field by field; and -> loader: the same facts."""
    path = shared / "data" / "counterfact" / "counterfact_grouped.json"
    place, store = tmp_path / "out.json", tmp_path / "s.duckdb"
    import_file(str(path), store, format="counterfact")
    with Store.open(store) as opened:
        split = make_split("grouped", choose(opened, SplitRule(min_prompts=0)).cases)
    assert export(split, place, "counterfact") == 1803
    upstream = {r["case_id"]: r for r in json.loads(path.read_text(encoding="utf-8"))}
    assert {r["case_id"]: r for r in json.loads(place.read_text(encoding="utf-8"))} == upstream
    facts = {f.key: f for f in load(path, "counterfact").facts}
    assert {f.key: f for f in load(place, "counterfact").facts} == facts


KNOWEDIT_NAMES = {
    "subject": ("subject", "concept"),
    "prompt": ("prompt", "text"),
    "target_new": ("target_new", "labels"),
}
"""What ``KnowEditDataset`` needs, and the names that it tries: a KeyError of the last where none is there."""
KNOWEDIT_OPTIONAL = {"ground_truth": ("ground_truth",), "rephrase_prompt": ("rephrase", "rephrase_prompt")}
KNOWEDIT_LISTS = {
    "portability_r": ("portability", "Reasoning"),
    "portability_s": ("portability", "Subject_Aliasing"),
    "portability_l": ("portability", "Logical_Generalization"),
    "locality_rs": ("locality", "Relation_Specificity"),
    "locality_f": ("locality", "Forgetfulness"),
}
"""Optional lists; the earlier class has no ``portability_l`` and raises KeyError where there is no ``locality``."""

FLAT_BATCH = ("prompt", "target_new", "ground_truth", "rephrase_prompt", "locality_prompt", "locality_ground_truth")
"""What a batch of the flat ``CounterFactDataset`` needs of each record; its constructor takes any list."""


def knowedit_items(path: Path, *, earlier: bool = False) -> list[dict[str, Any]]:
    """The items of ``KnowEditDataset``: the lists are None where a record has none."""
    items = []
    for record in json.loads(path.read_text("utf-8")):
        item = {name: record[next((n for n in ns if n in record), ns[-1])] for name, ns in KNOWEDIT_NAMES.items()}
        item |= {name: next((record[n] for n in ns if n in record), None) for name, ns in KNOWEDIT_OPTIONAL.items()}
        for name, (part, inner) in KNOWEDIT_LISTS.items():
            needed = earlier and part == "locality"
            item[name] = (record[part] if needed else record.get(part, {})).get(inner)
        items.append(item)
    return items


def knowedit_batch(items: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Prompt, new target, locality prompt and its answer of each item, as both collate functions take them.

    Raises:
        TypeError: an item without a list of locality.
    """
    rows = []
    for item in items:
        near = item["locality_f"] if item["locality_rs"] is None else item["locality_rs"]
        asked, answers = near[0]["prompt"], near[0]["ground_truth"]
        # One function takes the first answer, or its first alias; the other the first answer's list. A lone text
        # would give its first letter.
        first = answers[0] if isinstance(answers[0], str) else answers[0][0]
        rows.append((item["prompt"], item["target_new"], asked if isinstance(asked, str) else asked[0], first))
    return rows


def answers(probes: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Prompt and right answer of the probes of a list, as the evaluation takes them."""
    firsts = ((probe["prompt"], probe["ground_truth"][0]) for probe in probes)
    return [(prompt, first if isinstance(first, str) else first[0]) for prompt, first in firsts]


def flat_batch(path: Path) -> list[tuple[str, ...]]:
    """The fields of a batch of all records, as the flat ``CounterFactDataset`` puts it together.

    Raises:
        KeyError: a record lacks a field.
    """
    return [tuple(record[name] for name in FLAT_BATCH) for record in json.loads(path.read_text("utf-8"))]


BARE = Case(key="case/f", fact=peru_fact("f", paraphrases=()))


def written(folder: Path, split: Split, format: str, *, lists: bool = False) -> Path:
    export(split, folder / f"{format}.json", format, lists)
    return folder / f"{format}.json"


@pytest.mark.parametrize("earlier", [True, False])
def test_knowedit_dataset_gets_portability_and_locality_of_every_case_of_mini(tmp_path: Path, earlier: bool) -> None:
    cases = small_split().cases
    items = knowedit_items(written(tmp_path, small_split(), "easyedit", lists=True), earlier=earlier)
    assert len(items) == len(cases)
    for case, item in zip(cases, items, strict=True):
        fact, new = case.fact, case.fact.new_object.text
        fields = ("subject", "prompt", "target_new", "ground_truth", "rephrase_prompt")
        edit = (fact.subject.text, fact.fact_prompt, new, fact.old.text, fact.paraphrases[0])
        assert tuple(item[name] for name in fields) == edit
        assert answers(item["portability_r"]) == [(cloze(p.text, p.separator), new) for p in case.prompts] != []
        aliased = [(fact.prompt.replace("{}", alias), new) for alias in fact.subject.aliases]
        assert answers(item["portability_s"] or ()) == aliased
        near = {(n.fact.fact_prompt, n.fact.old.text) for n in case.neighbours}
        assert set(answers(item["locality_rs"])) >= near != set()
        assert item["portability_l"] is item["locality_f"] is None
    batch = knowedit_batch(items)
    assert [(prompt, new) for prompt, new, _, _ in batch] == [(i["prompt"], i["target_new"]) for i in items]
    assert [near for *_, near in batch] == [answers(i["locality_rs"])[0][1] for i in items], "whole answers, no letters"


def test_readers_that_fail_are_named_by_the_export(tmp_path: Path) -> None:
    items = knowedit_items(written(tmp_path, small_split(), "easyedit"), earlier=True)
    assert all(item[name] is None for item in items for name in KNOWEDIT_LISTS)
    with pytest.raises(TypeError):
        knowedit_batch(items)
    assert "its batches fail: add --knowedit-lists" in chosen_exporter("easyedit").gaps[0]
    split = make_split("mixed", [*small_split().cases[:2], BARE])
    items = knowedit_items(written(tmp_path, split, "easyedit", lists=True), earlier=True)
    knowedit_batch(i for i in items if i["subject"] != BARE.fact.subject.text)
    with pytest.raises(TypeError):
        knowedit_batch(items)
    assert "fail with a case without a neighbour" in chosen_exporter("easyedit", knowedit_lists=True).gaps[0]
    with pytest.raises(KeyError, match="locality_prompt"):
        flat_batch(tmp_path / "easyedit.json")
    for format in ("scedit-cf", "counterfact"):
        with pytest.raises(KeyError):
            flat_batch(written(tmp_path, small_split(), format))
        assert "export as easyedit" in chosen_exporter(format).gaps[0]


def test_the_flat_counterfact_dataset_gets_batches_from_the_easyedit_export(tmp_path: Path) -> None:
    cases = small_split().cases
    batch = flat_batch(written(tmp_path, small_split(), "easyedit"))
    assert all(isinstance(field, str) and field for row in batch for field in row)
    facts = [c.fact for c in cases]
    assert [row[:4] for row in batch] == [
        (f.fact_prompt, f.new_object.text, f.old.text, f.paraphrases[0]) for f in facts
    ]
    near = [{(n.fact.fact_prompt, n.fact.old.text) for n in c.neighbours} for c in cases]
    assert all((row[4], row[5]) in pairs for row, pairs in zip(batch, near, strict=True))


# What memit's evaluation on CounterFact reads of a record (kmeng01/memit, experiments/py/eval_utils_counterfact.py).
MEMIT_PROMPTS = ("paraphrase_prompts", "neighborhood_prompts", "generation_prompts")


def test_memit_finds_each_field_of_its_counterfact_evaluation(tmp_path: Path) -> None:
    cases = [c for c in small_split().cases if c.fact.change == "counterfactual"]
    records = json.loads(written(tmp_path, small_split(), "counterfact").read_text())
    assert [r["case_id"] for r in records] == list(range(len(cases)))
    for case, record in zip(cases, records, strict=True):
        rewrite, fact = record["requested_rewrite"], case.fact
        assert rewrite["prompt"].format(rewrite["subject"]) == fact.fact_prompt
        assert (rewrite["target_new"]["str"], rewrite["target_true"]["str"]) == (fact.new_object.text, fact.old.text)
        assert rewrite["relation_id"] == fact.relation.id
        assert all(record[name] and all(isinstance(p, str) for p in record[name]) for name in MEMIT_PROMPTS)
