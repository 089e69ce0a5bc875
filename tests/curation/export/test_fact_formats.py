"""Splits of facts in other people's shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.export.fact_formats import (
    cf_rows,
    cloze,
    counterfact_rows,
    easyedit_rows,
    fact_rows,
    t_rows,
)
from curation.export.formats import chosen_exporter
from curation.splits.split_file import Extras
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.extras import Extra
from schemas.facts import Entity, Relation
from tests.support.facts import peru_fact
from tests.support.small import small_split


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
