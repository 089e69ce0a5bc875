"""Our exports through readers that demand what others demand: EasyEdit's data sets, memit's evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from curation.export.fact_formats import cloze
from curation.export.formats import chosen_exporter, export
from curation.splits.split_file import Split, make_split
from schemas.cases import Case
from tests.support.facts import peru_fact
from tests.support.small import small_split

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
