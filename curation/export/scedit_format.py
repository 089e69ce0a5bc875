"""The published shapes ScEdit-CF and ScEdit-T (Li et al., 2025; fields as in the authors' README and loaders)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from curation.files.json_files import write_array
from curation.splits.split_file import Split
from schemas.cases import Case


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
    return write_array(cf_rows(split.cases), path)


def write_t(split: Split, path: Path) -> int:
    """ScEdit-T; returns the number of cases written."""
    return write_array(t_rows(split.cases), path)


def cf_rows(cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """ScEdit-CF records, one at a time."""
    for case_id, case in _in_file_order(cases, "counterfactual", "scedit-cf"):
        yield _cf(case_id, case)


def t_rows(cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """ScEdit-T records, one at a time."""
    for case_id, case in _in_file_order(cases, "temporal", "scedit-t"):
        yield _temporal_record(case_id, case)


def _in_file_order(cases: Sequence[Case], change: str, format: str) -> Iterator[tuple[int | str, Case]]:
    """Cases with their ``case_id``: those of a ScEdit file first, with its ids and in the order of its numbers.

    An id that two files have goes to the first. Other cases follow as they come, with the lowest free numbers.
    """
    own: dict[int | str, Case] = {}
    others = []
    for case in cases:
        if case.fact.change != change:
            continue
        match = re.fullmatch(rf"(?:.*/)?{format}/([^/]+)", case.fact.key)
        text = match[1] if match else ""
        case_id = int(text) if re.fullmatch("0|[1-9][0-9]{0,17}", text) else text
        if match is None or text.endswith("-of-file") or case_id in own:
            others.append(case)
        else:
            own[case_id] = case
    yield from sorted(own.items(), key=lambda item: (isinstance(item[0], str), item[0]))
    numbers = (n for n in itertools.count() if n not in own)
    yield from zip(numbers, others, strict=False)


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
