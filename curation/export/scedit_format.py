"""The published shapes ScEdit-CF and ScEdit-T (Li et al., 2025; fields as in the authors' README and loaders)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from curation.files.json_files import write_array
from curation.splits.split_extras import NONE, Extras
from curation.splits.split_file import Split
from schemas.cases import Case
from schemas.extras import FILE_ORDER

_NUMBER = re.compile(r"0|[1-9]\d{0,17}")
_TAKEN = re.compile(r"\d+-of-file")  # the loader's word for an id that another record of the file has


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


def _in_file_order(cases: Sequence[Case], change: str, format: str, extras: Extras) -> Iterator[tuple[int | str, Case]]:
    """Cases with their ``case_id``: those of a ScEdit file first, with its ids and in its order.

    An id that two files, or two records of one, have goes to the first. Other cases follow as they come with the lowest
    free numbers, and are not held in memory.
    """
    pattern = re.compile(rf"(?:.*/)?{format}/([^/]+)", re.DOTALL)
    wanted = [(c.fact.key, m[1]) for c in cases if c.fact.change == change and (m := pattern.fullmatch(c.fact.key))]
    orders = _file_orders(extras, [key for key, _ in wanted])
    wanted.sort(key=lambda p: (orders.get(p[0], 0), *_id_order(p[1]), p[0]))
    ids: dict[str, int | str | None] = {}
    taken = set[int | str]()
    for key, text in wanted:
        case_id = int(text) if _NUMBER.fullmatch(text) else text
        free = case_id not in taken and not _TAKEN.fullmatch(text)
        ids[key] = case_id if free else None
        taken |= {case_id} if free else set()
    numbers = (n for n in itertools.count() if n not in taken)
    held = {c.fact.key: c for c in cases if c.fact.key in ids} if ids else {}
    for key, case_id in ids.items():
        yield next(numbers) if case_id is None else case_id, held[key]
    yield from ((next(numbers), c) for c in cases if c.fact.change == change and c.fact.key not in ids)


def _file_orders(extras: Extras, keys: Sequence[str]) -> dict[str, int]:
    """How often the ids of its file descended before a record, by the fact's key; absent where they never did."""
    file_orders = {e.subject_key: e.value for e in extras.of(keys) if e.name == FILE_ORDER} if keys else {}
    return {key: value for key, value in file_orders.items() if type(value) is int and value > 0}


def _id_order(text: str) -> tuple[bool, int, str]:
    number = _NUMBER.fullmatch(text)
    return not number, int(text) if number else 0, text


def _cf(case_id: int | str, case: Case) -> dict[str, Any]:
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


def _temporal_record(case_id: int | str, case: Case) -> dict[str, Any]:
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
