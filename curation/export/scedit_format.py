"""The published shapes ScEdit-CF and ScEdit-T (Li et al., 2025; fields as in the authors' README and loaders)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from curation.files.json_files import write_array
from curation.splits.split_file import Split
from schemas.cases import Case

_CF_NUMBER, _T_NUMBER = (re.compile(rf"scedit-{kind}/(0|[1-9]\d{{0,17}})") for kind in ("cf", "t"))


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
    for n, case in _in_file_order(cases, "counterfactual", _CF_NUMBER):
        yield _cf(n, case)


def t_rows(cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """ScEdit-T records, one at a time."""
    for n, case in _in_file_order(cases, "temporal", _T_NUMBER):
        yield _temporal_record(n, case)


def _in_file_order(cases: Sequence[Case], change: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, Case]]:
    """Cases with their ``case_id``: those that all come of a ScEdit file keep its numbers and its order.

    Cases of other origins are numbered as they come, and are not held in memory.
    """
    numbers = [pattern.fullmatch(c.fact.key) for c in cases if c.fact.change == change]
    fitting = (c for c in cases if c.fact.change == change)
    if numbers and all(numbers):
        yield from sorted(((int(m[1]), c) for m, c in zip(numbers, fitting, strict=True) if m), key=lambda p: p[0])
    else:
        yield from enumerate(fitting)


def _cf(number: int, case: Case) -> dict[str, Any]:
    fact = case.fact
    return {
        "case_id": number,
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


def _temporal_record(number: int, case: Case) -> dict[str, Any]:
    fact = case.fact
    return {
        "case_id": number,
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
