"""A store of N items (facts, questions, prompts, verdicts): time and peak memory of import, freeze and export.

Each command runs in a process of its own. Run: python -m benchmarks.store 10000 100000 1000000
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.records import Record
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key

SOURCE = Source(name="made", licence="CC0-1.0")


def items(n: int) -> Iterator[Record]:
    """N made items: of every ten one fact, four questions, four prompts, one verdict."""
    for i in range(n // 10):
        fact = Fact(
            key=f"made/{i:07d}", subject=Entity(text=f"Subject {i}"), relation=Relation(id=f"P{i % 50}"),
            prompt="The capital of {} is", old=Object(text=f"Old {i % 997}"), new=Object(text=f"New {i % 991}"),
            source=SOURCE,
        )  # fmt: skip
        yield fact
        for k in range(4):
            question = ScriptQuestion(key=f"{fact.key}/q{k}", fact=fact.key, text=f"How to do {k} for Subject {i}?")
            text = f"{question.text}\nStep 1: Pack a bag\nStep 2: Travel to"
            yield question
            yield ScriptPrompt(
                key=f"{question.key}/p", fact=fact.key, question=question.key, text=text, offset=len(text) + 1, step=2,
                targets=(f"Old {i % 997}", f"New {i % 991}"),
            )  # fmt: skip
        by = "early_cut@1"
        label = "drop" if i % 10 == 0 else "keep"
        yield Verdict(
            key=verdict_key(item_id=question.id, by=by), item_id=question.id, by=by, label=label, reason="made"
        )


def measured(*args: object) -> dict[str, float]:
    """Seconds and peak memory (MiB) of one command."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "scedit", *map(str, args)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{args} ended with {status}")
    found = {"seconds": round(time.perf_counter() - start, 1), "peak_mib": round(usage.ru_maxrss / 1024)}
    print(args[0], found, file=sys.stderr, flush=True)
    return found


def one(n: int) -> dict[str, Any]:
    """All commands on a store of n items."""
    with tempfile.TemporaryDirectory() as folder:
        file, store = Path(folder) / "items.jsonl", Path(folder) / "s.duckdb"
        with open(file, "w", encoding="utf-8") as out:
            for item in items(n):
                out.write(json.dumps({"kind": item.kind, **item.payload()}, ensure_ascii=False) + "\n")
        result: dict[str, Any] = {"items": n, "import": measured("import", file, "--store", store)}
        result["freeze"] = measured("split", "freeze", "all", "--store", store)
        result["stats"] = measured("stats", "--store", store)
        result["dump"] = measured("dump", Path(folder) / "d.jsonl", "--store", store)
        result["export"] = measured("split", "export", "all", Path(folder) / "e.jsonl", "--store", store)
        result["store_mib"] = round(store.stat().st_size / 2**20)
    return result


def main(sizes: tuple[int, ...] = (10_000, 100_000)) -> dict[str, Any]:
    """Growth over sizes."""
    return {"what": "store of made items", "results": [one(n) for n in sizes]}


if __name__ == "__main__":
    for size in map(int, sys.argv[1:]):
        print(json.dumps(one(size)), flush=True)
