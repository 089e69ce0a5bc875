"""Splits in other people's shapes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from curation.splits import Split, write_split
from schemas.cases import Case
from schemas.errors import UserError
from schemas.registry import Registry


def scedit_cf(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Counterfactual cases in the published ScEdit-CF shape; temporal ones are left out.

    A separator other than one space cannot be said in that shape: it is kept at the end of the prompt.
    """
    return [_cf(n, case) for n, case in enumerate(c for c in cases if c.fact.change == "counterfactual")]


def scedit_t(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Temporal cases in the published ScEdit-T shape; counterfactual ones are left out."""
    return [_t(n, case) for n, case in enumerate(c for c in cases if c.fact.change == "temporal")]


def _cf(number: int, case: Case) -> dict[str, Any]:
    fact = case.fact
    assert fact.new is not None
    return {
        "case_id": number,
        "prompt": fact.fact_prompt,
        "ground_truth": fact.old.text,
        "target_new": fact.new.text,
        "subject": fact.subject.text,
        "rephrase_prompts": [_cloze(p.text, p.separator) for p in case.prompts],
        "neighborhood_prompts": [
            _cloze(p.text, p.separator) for n in case.neighbours if n.link.how == "same_object" for p in n.prompts
        ],
        "interrupt_step": [p.step for p in case.prompts],
        "property": fact.relation.label or fact.relation.id,
        "generation_prompts": [q.text for q in case.questions],
    }


def _t(number: int, case: Case) -> dict[str, Any]:
    fact = case.fact
    assert fact.new is not None
    return {
        "case_id": number,
        "subject": fact.subject.text,
        "relation": fact.relation.label or fact.relation.id,
        "prompt": fact.fact_prompt,
        "old_update": fact.old.text,
        "new_update": fact.new.text,
        "question": [_cloze(p.text, p.separator) for p in case.prompts],
        "neighborhood": [
            {"object": n.fact.old.text, "prompt": n.fact.fact_prompt, "question": _cloze(p.text, p.separator)}
            for n in case.neighbours
            for p in n.prompts
        ],
    }


def _cloze(text: str, separator: str) -> str:
    return text if separator == " " else text + separator


def _write_json(rows: list[dict[str, Any]], path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return len(rows)


def write_own(split: Split, path: Path) -> int:
    """Our frozen split file."""
    write_split(split, path)
    return len(split.cases)


def write_cf(split: Split, path: Path) -> int:
    """ScEdit-CF; returns the number of cases written."""
    return _write_json(scedit_cf(split.cases), path)


def write_t(split: Split, path: Path) -> int:
    """ScEdit-T; returns the number of cases written."""
    return _write_json(scedit_t(split.cases), path)


EXPORTERS = Registry(
    "exporter",
    {
        "split": "curation.export:write_own",
        "scedit-cf": "curation.export:write_cf",
        "scedit-t": "curation.export:write_t",
    },
)


def export(split: Split, path: Path, format: str) -> int:
    """Write a split in a format of ``EXPORTERS``; returns the number of cases written.

    Raises:
        UserError: unknown format, no case of its kind, or the file cannot be written.
    """
    write: Callable[[Split, Path], int] = EXPORTERS.get(format)
    try:
        written = write(split, path)
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", where=str(path)) from None
    if not written:
        path.unlink()
        raise UserError(f"the split '{split.name}' has no case that {format} can hold", fix="choose the other format")
    return written
