from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.loaders import load
from curation.loaders.base import template
from tests.support.curation.importable_files import SHORT, write

ORIGINAL = {
    "case_id": 7,
    "pararel_idx": 1,
    "requested_rewrite": {
        "prompt": "The mother tongue of {} is",
        "relation_id": "P103",
        "target_new": {"str": "English", "id": "Q1860"},
        "target_true": {"str": "French", "id": "Q150"},
        "subject": "Danielle Darrieux",
    },
    "paraphrase_prompts": ["a", "b "],
    "neighborhood_prompts": ["c"],
    "attribute_prompts": [],
    "generation_prompts": [],
}

FLAT = {
    "case_id": 0, "prompt": "The mother tongue of Danielle Darrieux is", "target_new": "English",
    "subject": "Danielle Darrieux", "ground_truth": "French", "rephrase_prompt": "x y", "locality_prompt": "z",
    "locality_ground_truth": "French",
}  # fmt: skip


def test_a_whole_record_comes_back_as_it_was(tmp_path: Path) -> None:
    first = load(write(tmp_path / "a.jsonl", SHORT)).facts[0]
    reloaded = load(write(tmp_path / "b.jsonl", first.model_dump_json())).facts[0]
    assert reloaded.id == first.id


def test_counterfact_shapes_agree(tmp_path: Path) -> None:
    one = load(write(tmp_path / "a.json", "[", json.dumps(ORIGINAL), "]"))
    two = load(write(tmp_path / "b.json", "[", json.dumps(FLAT), "]"))
    assert (one.format, two.format) == ("counterfact", "counterfact-flat")
    a, b = one.facts[0], two.facts[0]
    assert (a.prompt, a.old.text, a.new) == (b.prompt, b.old.text, a.new)
    assert a.key == "counterfact/7" and a.old.wikidata == "Q150" and a.paraphrases == ("a", "b")
    assert b.neighbour_prompts == ("z",)
    assert b.relation.id.startswith("template:")


def test_template_takes_the_first_occurrence_only() -> None:
    assert template("Rome {x} and Rome", "Rome") == "{} {x} and Rome"
    with pytest.raises(ValueError, match="not in the prompt"):
        template("a", "b")
