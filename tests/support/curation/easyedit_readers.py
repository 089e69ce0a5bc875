"""What EasyEdit's dataset classes read of a record, as facts, and readers that demand the same.

Looked up in zjunlp/EasyEdit, easyeditor/dataset: ``KnowEditDataset`` (knowedit.py, commit e4f8646 and the later one
with ``portability_l``), ``CounterFactDataset`` (counterfact.py, commits f3f935d: flat records, 269cdef: long texts).
The readers are ours; they fail where the classes fail, with the same error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

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
    return [_knowedit_item(record, earlier) for record in json.loads(path.read_text("utf-8"))]


def _knowedit_item(record: Mapping[str, Any], earlier: bool) -> dict[str, Any]:
    item = {name: record[next((n for n in names if n in record), names[-1])] for name, names in KNOWEDIT_NAMES.items()}
    for name, names in KNOWEDIT_OPTIONAL.items():
        item[name] = next((record[n] for n in names if n in record), None)
    for name, (part, inner) in KNOWEDIT_LISTS.items():
        needed = earlier and part == "locality"
        item[name] = (record[part] if needed else record.get(part, {})).get(inner)
    return item


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
