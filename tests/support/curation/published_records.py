"""Records in the published shapes, and what is asked of a loaded file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from curation.loaders import LoadResult, load
from schemas.facts import Fact


def one(tmp_path: Path, *data: object, name: str = "f.json", format: str | None = None) -> LoadResult:
    path = tmp_path / name
    lines = [json.dumps(d) for d in data]
    path.write_text("\n".join(lines) if name.endswith("jsonl") else "[\n" + ",\n".join(lines) + "\n]")
    return load(path, format)


def of(import_result: LoadResult, kind: type[Any]) -> list[Any]:
    return [r for r in import_result.records if isinstance(r, kind)]


def new_of(fact: Fact) -> str:
    assert fact.new is not None
    return fact.new.text


def kinds(import_result: LoadResult) -> list[str]:
    return [p.kind for p in import_result.problems]


CF: dict[str, Any] = {
    "case_id": 5, "prompt": "The Eiffel Tower is in", "ground_truth": "Paris", "target_new": "Rome",
    "subject": "Eiffel Tower", "rephrase_prompts": ["How to go?\nStep 1: Walk\nStep 2: Fly to"],
    "neighborhood_prompts": ["How to see the Louvre?\nStep 1: Go to ("], "interrupt_step": [2], "property": "location",
}  # fmt: skip
