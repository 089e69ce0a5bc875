"""Splits as plain facts and edits in other people's shapes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.export.fact_formats import (
    counterfact_rows,
    easyedit_rows,
    fact_rows,
    knowedit_gaps,
    write_counterfact,
    write_easyedit,
    write_facts,
    write_knowedit,
)
from curation.export.formats import chosen_exporter
from curation.export.scedit_format import cloze
from curation.loaders import load
from curation.shipped import mini_split
from curation.splits.split_file import Extras, make_split
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.extras import Extra
from schemas.facts import Object
from tests.support.curation.easyedit_readers import FLAT_BATCH, KNOWEDIT_LISTS
from tests.support.curation.record_shape import shape
from tests.support.facts import peru_fact


def bare(key: str, **changes: Any) -> Case:
    return Case(key=f"case/{key}", fact=peru_fact(key, **changes))


def test_the_original_counterfact_shape(shared: Path) -> None:
    example = json.loads((shared / "data" / "counterfact" / "rome_format_example.json").read_text())
    example = example[0] if isinstance(example, list) else example
    row = next(counterfact_rows(mini_split().cases))
    assert shape(row) == {k: v for k, v in shape(example).items() if k != "pararel_idx"}
    assert shape(row["requested_rewrite"]) == shape(example["requested_rewrite"])
    assert row["requested_rewrite"]["target_true"]["str"] == mini_split().cases[0].fact.old.text
    assert row["neighborhood_prompts"] == [n.fact.fact_prompt for n in mini_split().cases[0].neighbours]


def test_knowedits_lists(shared: Path) -> None:
    example = json.loads((shared / "data" / "knowedit" / "readme_examples.json").read_text())["Wiki counterfact"]
    row = next(easyedit_rows(mini_split().cases))
    assert example.keys() <= row.keys()
    for part in ("portability", "locality"):
        reference, values = (next(iter(record[part].values()))[0] for record in (example, row))
        assert shape(values) == shape(reference)
    case = mini_split().cases[0]
    assert case.fact.new is not None
    scripts = row["portability"]["Script"]
    assert [s["prompt"] for s in scripts] == [p.text for p in case.prompts]
    assert {s["ground_truth"] for s in scripts} == {case.fact.new.text}
    assert {s["ground_truth"] for s in row["locality"]["Script_Neighbour"]} == {case.fact.old.text}


def test_case_ids_of_counterfact_stay_and_others_get_free_numbers() -> None:
    keys = ["counterfact/1", "counterfact/007", "mine/a", "mine/b", "counterfact/0"]
    rows = counterfact_rows([Case(key=f"case/{k}", fact=peru_fact(k)) for k in keys])
    assert [row["case_id"] for row in rows] == [1, 2, 3, 4, 0]


def test_free_numbers_fill_gaps_and_skip_what_is_taken() -> None:
    keys = [f"counterfact/{n}" for n in (2, 0, 5)]
    rows = counterfact_rows([bare(k) for k in ["a", *keys, "b", "c", "d", "e"]])
    assert [row["case_id"] for row in rows] == [1, 2, 0, 5, 3, 4, 6, 7]


@pytest.mark.parametrize("key", ["counterfact/01", "counterfact/-1", "counterfact/9" + "9" * 18, "xcounterfact/3"])
def test_what_only_looks_like_a_number_of_counterfact_gets_a_free_one(key: str) -> None:
    assert [r["case_id"] for r in counterfact_rows([bare(key), bare("counterfact/0")])] == [1, 0]


def test_no_case_is_no_record() -> None:
    assert list(counterfact_rows([])) == list(easyedit_rows([])) == list(fact_rows([])) == []


def test_a_case_of_a_fact_alone() -> None:
    (row,) = counterfact_rows([bare("f", paraphrases=())])
    assert (row["paraphrase_prompts"], row["neighborhood_prompts"], row["generation_prompts"]) == ([], [], [])
    assert "pararel_idx" not in row and "id" not in row["requested_rewrite"]["target_true"]
    (row,) = easyedit_rows([bare("f", paraphrases=())])
    assert (row["portability"], row["locality"], row["rephrase_prompt"]) == ({}, {}, "")
    assert "locality_prompt" not in row


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
    split = mini_split()
    shared = split.cases[0].neighbours
    split = split._replace(
        all_cases=[c.model_copy(update={"neighbours": (*c.neighbours, *shared)}) for c in split.cases]
    )
    rows = list(fact_rows(split.cases))
    keys = [c.fact.key for c in split.cases]
    assert [r["key"] for r in rows[: len(keys)]] == keys
    assert len({(r["key"], json.dumps(r)) for r in rows}) == len(rows)
    assert {r["key"] for r in rows} == {*keys, *(n.fact.key for c in split.cases for n in c.neighbours)}


def test_facts_with_odd_texts_and_extras_are_loaded_again(tmp_path: Path) -> None:
    odd = bare("f/odd", old=Object(text="a\u2028b"), paraphrases=('"\\', "line\nend", "Zu\u0308rich \U0001f600"))
    extra = Extra.holding("f/odd/x", {"n": [None]}, subject_key="f/odd", name="x")
    split = make_split("odd", [odd])._replace(extras=Extras([extra]))
    assert write_facts(split, tmp_path / "f.jsonl") == 1
    back = load(tmp_path / "f.jsonl")
    assert (back.facts, back.records, back.problems) == ((odd.fact,), (extra,), ())


def test_prompts_and_targets_of_scripts_stay_together() -> None:
    case = next(c for c in mini_split().cases if c.neighbours and any(n.prompts for n in c.neighbours))
    (row,) = easyedit_rows([case])
    near = [(cloze(p.text, p.separator), p.targets[0]) for n in case.neighbours for p in n.prompts]
    assert [(x["prompt"], x["ground_truth"]) for x in row["locality"]["Script_Neighbour"]] == near
    plain = [(x["prompt"], x["ground_truth"]) for x in row["locality"]["Neighbour"]]
    assert (row["locality_prompt"], row["locality_ground_truth"]) == plain[0]


def test_a_neighbour_prompt_that_is_told_twice_is_asked_once() -> None:
    case = next(c for c in mini_split().cases if c.neighbours)
    near = case.neighbours[0].fact.model_copy(update={"old": case.fact.old})
    neighbour = case.neighbours[0].model_copy(update={"fact": near})
    fact = case.fact.model_copy(update={"neighbour_prompts": (near.fact_prompt,)})
    (row,) = easyedit_rows([case.model_copy(update={"fact": fact, "neighbours": (neighbour,)})])
    assert row["locality"]["Neighbour"] == [{"prompt": near.fact_prompt, "ground_truth": fact.old.text}]


def test_the_number_written_is_that_of_the_records(tmp_path: Path) -> None:
    split = mini_split()
    for write, only in ((write_counterfact, {"counterfactual"}), (write_easyedit, {"counterfactual", "temporal"})):
        number = write(split, tmp_path / "x.json")
        assert number == len(json.loads((tmp_path / "x.json").read_text()))
        assert number == sum(c.fact.change in only for c in split.cases) > 0


def test_lists_that_cases_cannot_fill_are_named_with_their_number() -> None:
    lists = ["/".join(place) for place in KNOWEDIT_LISTS.values()]
    problems, fields, _ = knowedit_gaps(make_split("bare", [bare("f", paraphrases=())]))
    assert all(f"{name} (0 of 1 case)" in problems for name in lists)
    assert problems.endswith("its batches fail with 1 case that have no neighbour")
    assert all(f"{name} (0 of 1 case)" in fields for name in FLAT_BATCH[3:])
    split = mini_split()
    problems, long_texts = knowedit_gaps(split)
    number = sum(bool(c.fact.subject.aliases) for c in split.cases)
    assert f"portability/Subject_Aliasing ({number} of {len(split.cases)} cases)" in problems and number > 0
    assert "Reasoning" not in problems and "Relation_Specificity" not in problems and "batches" not in problems
    assert "fact_new_uns" in long_texts


def test_what_stands_twice_for_easyedit_is_loaded_once(tmp_path: Path) -> None:
    split = mini_split()
    write_knowedit(split, tmp_path / "e.json")
    import_result = load(tmp_path / "e.json")
    assert not import_result.problems and len(import_result.facts) == len(split.cases)
    extras = [e for e in import_result.records if isinstance(e, Extra)]
    names = Counter(e.name for e in extras)
    assert {"portability/Reasoning", "locality/Relation_Specificity"}.isdisjoint(names)
    for name in ("portability/Script", "portability/Paraphrase", "locality/Neighbour", "locality/Script_Neighbour"):
        assert names[name] == len(split.cases)
    rows = {r["prompt"]: r for r in easyedit_rows(split.cases, knowedit_lists=True)}
    scripts = {
        e.subject_key: e.value for e in import_result.records if isinstance(e, Extra) and e.name == "portability/Script"
    }
    assert all(scripts[f.key] == rows[f.fact_prompt]["portability"]["Script"] for f in import_result.facts)


def test_the_lists_for_easyedit_come_on_request_and_only_there() -> None:
    split = mini_split()
    record = {"portability": {"Script", "Paraphrase"}, "locality": {"Neighbour", "Script_Neighbour"}}
    for plain, full in zip(easyedit_rows(split.cases), easyedit_rows(split.cases, True), strict=True):
        assert all(plain[part].keys() == names for part, names in record.items())
        assert {k: {n: full[k][n] for n in v} if k in record else full[k] for k, v in plain.items()} == plain
    assert "--knowedit-lists" in chosen_exporter("easyedit").gaps(split)[0]
    with pytest.raises(UserError, match="easyedit"):
        chosen_exporter("counterfact", knowedit_lists=True)
