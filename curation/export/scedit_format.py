"""The published shapes ScEdit-CF and ScEdit-T (Li et al., 2025; fields as in the authors' README and loaders)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from curation.files.json_files import write_array
from curation.splits.case_ids import id_of, number_of
from curation.splits.split_file import NONE, Extras, Split
from schemas.cases import Case
from schemas.core.ids import canonical_json
from schemas.extras import CASE_ID, FILE_ORDER


def scedit_cf(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Counterfactual cases in the published ScEdit-CF shape; temporal ones are left out.

    A separator other than one space cannot be said in that shape: it is kept at the end of the prompt.
    """
    return list(cf_rows(cases))


def scedit_t(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Temporal cases in the published ScEdit-T shape; counterfactual ones are left out."""
    return list(t_rows(cases))


def write_cf(split: Split, path: Path) -> int:
    """ScEdit-CF; returns the number of cases written."""
    return write_array(cf_rows(split.cases, split.extras), path)


def write_t(split: Split, path: Path) -> int:
    """ScEdit-T; returns the number of cases written."""
    return write_array(t_rows(split.cases, split.extras), path)


def cf_rows(cases: Sequence[Case], extras: Extras = NONE) -> Iterator[dict[str, Any]]:
    """ScEdit-CF records, one at a time."""
    for case_id, case in _in_file_order(cases, "counterfactual", "scedit-cf", extras):
        yield _cf(case_id, case)


def t_rows(cases: Sequence[Case], extras: Extras = NONE) -> Iterator[dict[str, Any]]:
    """ScEdit-T records, one at a time."""
    for case_id, case in _in_file_order(cases, "temporal", "scedit-t", extras):
        yield _temporal_record(case_id, case)


def _in_file_order(cases: Sequence[Case], change: str, format: str, extras: Extras) -> Iterator[tuple[Any, Case]]:
    """Cases with their ``case_id``: those of a ScEdit file first, with its ids and in its order.

    An id that two files, or two records of one, have goes to the first; null, which is none, to all. Other cases follow
    as they come with the lowest free numbers, and are not held in memory.
    """
    pattern = re.compile(rf"(?:.*/)?{format}/(.+)", re.DOTALL)
    parts = {c.fact.key: m[1] for c in cases if c.fact.change == change and (m := pattern.fullmatch(c.fact.key))}
    ids, descents = _told_by_extras(extras, parts.keys())
    parts = {key: text for key, text in parts.items() if "/" not in text or key in ids}
    ordered = sorted(parts, key=lambda key: (descents.get(key, 0), *_id_order(parts[key]), key))
    numbered, taken = _each_once({key: ids[key] if key in ids else id_of(parts[key]) for key in ordered}, null=ids)
    numbers = (n for n in itertools.count() if taken.isdisjoint((f"{n}", f"{n}.0", f'"{n}"')))
    held = {c.fact.key: c for c in cases if c.fact.key in parts} if parts else {}
    for key in ordered:
        yield numbered[key] if key in numbered else next(numbers), held[key]
    yield from ((next(numbers), c) for c in cases if c.fact.change == change and c.fact.key not in parts)


def _told_by_extras(extras: Extras, keys: Collection[str]) -> tuple[dict[str, Any], dict[str, int]]:
    """By the fact's key: the case ids that keys do not tell; how often the ids of a file descended before a record.

    The second is absent where they never did.
    """
    ids, descents = dict[str, Any](), dict[str, int]()
    for extra in extras.of(keys) if keys else ():
        if extra.name == CASE_ID:
            ids[extra.subject_key] = extra.value
        elif extra.name == FILE_ORDER and type(extra.value) is int and extra.value > 0:
            descents[extra.subject_key] = extra.value
    return ids, descents


def _each_once(ids: dict[str, Any], null: Collection[str]) -> tuple[dict[str, Any], set[str]]:
    """The ids that no earlier key has, and their JSON texts; a null counts for the keys of which an extra says it."""
    numbered, taken = dict[str, Any](), set[str]()
    for key, case_id in ids.items():
        text = canonical_json(case_id)
        if (case_id is None and key in null) or (case_id is not None and text not in taken):
            numbered[key] = case_id
            taken.add(text)
    return numbered, taken


def _id_order(text: str) -> tuple[bool, int, str]:
    number = number_of(text)
    return number is None, number or 0, text


def _cf(case_id: Any, case: Case) -> dict[str, Any]:
    fact = case.fact
    return {
        "case_id": case_id,
        "prompt": fact.fact_prompt,
        "ground_truth": fact.old.text,
        "target_new": fact.new_object.text,
        "subject": fact.subject.text,
        "rephrase_prompts": [cloze(p.text, p.separator) for p in case.prompts],
        "neighborhood_prompts": [
            cloze(p.text, p.separator) for n in case.neighbours if n.link.how == "same_object" for p in n.prompts
        ],
        "interrupt_step": [p.step for p in case.prompts],
        "property": fact.relation.label or fact.relation.id,
        "generation_prompts": [q.text for q in case.questions],
    }


def _temporal_record(case_id: Any, case: Case) -> dict[str, Any]:
    fact = case.fact
    return {
        "case_id": case_id,
        "subject": fact.subject.text,
        "relation": fact.relation.label or fact.relation.id,
        "prompt": fact.fact_prompt,
        "old_update": fact.old.text,
        "new_update": fact.new_object.text,
        "question": [cloze(p.text, p.separator) for p in case.prompts],
        "neighborhood": [
            {"object": n.fact.old.text, "prompt": n.fact.fact_prompt, "question": cloze(p.text, p.separator)}
            for n in case.neighbours
            for p in n.prompts
        ],
    }


def cloze(text: str, separator: str) -> str:
    """A prompt as other people's evaluators take it: they add one space and the target; other separators stay."""
    return text if separator == " " else text + separator
