"""The published shapes ScEdit-CF and ScEdit-T."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.export.fact_formats import (
    easyedit_rows,
)
from curation.export.scedit_format import cf_rows, cloze, scedit_cf, scedit_t, t_rows, write_cf, write_t
from curation.shipped import mini_split
from schemas.cases import Case
from schemas.facts import Relation
from tests.support.curation.record_shape import shape
from tests.support.facts import peru_fact


@pytest.mark.parametrize(
    ("name", "make"), [("shape_example_cf.json", scedit_cf), ("shape_example_t.json", scedit_t)], ids=["cf", "t"]
)
def test_the_published_shapes(shared: Path, name: str, make: object) -> None:
    example = json.loads((shared / "data" / "scedit" / name).read_text())[0]
    converted = make(mini_split().cases)[0]  # type: ignore[operator]
    assert shape(converted) == shape(example)
    if "neighborhood" in example:
        assert shape(converted["neighborhood"][0]) == shape(example["neighborhood"][0])


def test_counts_and_content() -> None:
    cases = mini_split().cases
    cf, t = scedit_cf(cases), scedit_t(cases)
    assert len(cf) + len(t) == len(cases)
    first = next(c for c in cases if c.fact.change == "counterfactual")
    assert cf[0]["rephrase_prompts"] == [p.text for p in first.prompts]
    assert cf[0]["interrupt_step"] == [p.step for p in first.prompts]
    for row in cf:
        assert row["ground_truth"] not in " ".join(row["rephrase_prompts"])
    for row in t:
        assert all(n["object"] != row["old_update"] for n in row["neighborhood"])


def test_a_separator_that_is_no_space_stays_with_the_prompt() -> None:
    """Others' evaluators add one space and the target; ours would stand directly behind the bracket."""
    for case in (mini_split().cases[0], mini_split().cases[-1]):
        prompt = case.prompts[0]
        open_prompt = prompt.model_copy(update={"separator": " (", "offset": len(prompt.text) + 2})
        variant = case.model_copy(update={"prompts": (open_prompt,)})
        record = next(easyedit_rows([variant]))["portability"]["Script"]
        assert [s["prompt"] for s in record] == [prompt.text + " ("]
        problems = [p for r in scedit_cf([variant]) for p in r["rephrase_prompts"]]
        problems += [p for r in scedit_t([variant]) for p in r["question"]]
        assert problems == [prompt.text + " ("]


def test_a_case_without_prompts_and_neighbours() -> None:
    case = Case(key="case/f", fact=peru_fact("f", relation=Relation(id="P36")))
    (row,) = scedit_cf([case])
    assert [row[k] for k in ("rephrase_prompts", "neighborhood_prompts", "interrupt_step", "generation_prompts")] == [
        []
    ] * 4
    assert row["property"] == "P36", "the id stands where there is no label"
    assert scedit_t([case]) == []
    temporal = case.model_copy(update={"fact": peru_fact("f", change="temporal")})
    (row,) = scedit_t([temporal])
    assert (row["question"], row["neighborhood"], row["old_update"], row["new_update"]) == ([], [], "Lima", "Oslo")
    assert row["relation"] == "capital" and scedit_cf([temporal]) == []


@pytest.mark.parametrize(("rows", "change"), [(cf_rows, "counterfactual"), (t_rows, "temporal")])
def test_numbers_run_over_the_cases_of_the_kind_alone(rows: Any, change: str, tmp_path: Path) -> None:
    split = mini_split()
    number = sum(c.fact.change == change for c in split.cases)
    assert [row["case_id"] for row in rows(split.cases)] == list(range(number)) != []
    write = write_cf if change == "counterfactual" else write_t
    assert write(split, tmp_path / "x.json") == number == len(json.loads((tmp_path / "x.json").read_text()))


def test_neighbours_of_cf_are_those_that_share_the_old_object() -> None:
    case = next(c for c in mini_split().cases if c.fact.change == "counterfactual" and c.neighbours)
    (near, *_) = case.neighbours
    other = near.model_copy(update={"link": near.link.model_copy(update={"how": "near_subject"})})
    (row,) = scedit_cf([case.model_copy(update={"neighbours": (near, other)})])
    assert row["neighborhood_prompts"] == [cloze(p.text, p.separator) for p in near.prompts] != []


SEPARATORS = [(" ", "Fly to"), ("", "Fly to"), (" (", "Fly to ("), ("\n", "Fly to\n")]


@pytest.mark.parametrize(("separator", "text"), SEPARATORS)
def test_the_separator_that_others_do_not_add_stays(separator: str, text: str) -> None:
    assert cloze("Fly to", separator) == text


KINDS = [("cf", "counterfactual", cf_rows), ("t", "temporal", t_rows)]


def with_keys(change: str, *keys: str) -> list[Case]:
    """Shipped cases of a kind under other keys."""
    some = [c for c in mini_split().cases if c.fact.change == change]
    return [
        c.model_copy(update={"fact": c.fact.model_copy(update={"key": key})})
        for c, key in zip(some, keys, strict=False)
    ]


@pytest.mark.parametrize(("kind", "change", "rows"), KINDS)
def test_cases_of_a_scedit_file_keep_its_numbers_and_order(kind: str, change: str, rows: Any) -> None:
    """Keys are in order of their letters (10 before 9); the file was in order of its numbers, with gaps."""
    cases = with_keys(change, f"scedit-{kind}/10", f"scedit-{kind}/1830", f"scedit-{kind}/9")
    entries = list(rows(cases))
    assert [row["case_id"] for row in entries] == [9, 10, 1830]
    assert [row["subject"] for row in entries] == [cases[n].fact.subject.text for n in (2, 0, 1)]


@pytest.mark.parametrize(("kind", "change", "rows"), KINDS)
def test_cases_of_other_origins_stand_behind_with_the_lowest_free_numbers(kind: str, change: str, rows: Any) -> None:
    keys = ("a/1", f"scedit-{kind}/1", f"scedit-{kind}/a12", f"scedit-{kind}/3-of-file", "z/9", f"x/scedit-{kind}/1")
    cases = with_keys(change, *keys)
    entries = list(rows(cases))
    subjects = [c.fact.subject.text for c in cases]
    numbers = {row["subject"]: row["case_id"] for row in entries}
    expected = dict(zip(subjects, (0, 1, "a12", 2, 3, 4), strict=False))
    assert numbers == expected, "a text stays one; a number that stands twice is free for the first alone"
    assert [row["case_id"] for row in entries] == [1, "a12", 0, 2, 3, 4], "cases of no ScEdit file come last"


@pytest.mark.parametrize(("kind", "change", "rows"), KINDS)
def test_prefixed_cases_keep_their_numbers_where_they_are_free(kind: str, change: str, rows: Any) -> None:
    cases = with_keys(change, f"second/scedit-{kind}/70", f"second/scedit-{kind}/8", f"second/scedit-{kind}/007")
    assert [row["case_id"] for row in rows(cases)] == [8, 70, "007"]
