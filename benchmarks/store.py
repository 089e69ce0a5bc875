"""A store of N items (facts, questions, prompts, verdicts): time and peak memory of each command on it.

Each command runs in a process of its own. Run: python -m benchmarks.store 10000 100000 1000000 (results are merged into
benchmarks/results/store.json)
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

from benchmarks.curation import question as made_question
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Object, Relation, Source
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
            text = made_question(4 * i + k)
            question = ScriptQuestion(key=f"{fact.key}/q{k}", fact=fact.key, text=text)
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
    """Seconds, those of the processor (others may share the machine), and peak memory (MiB) of one command."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "scedit", *map(str, args)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{args} ended with {status}")
    usage_row = {"seconds": round(time.perf_counter() - start, 1), "peak_mib": round(usage.ru_maxrss / 1024)}
    usage_row["cpu_seconds"] = round(usage.ru_utime + usage.ru_stime, 1)
    print(*args[:2], usage_row, file=sys.stderr, flush=True)
    return usage_row


def one(n: int, folder: Path) -> dict[str, Any]:
    """All commands on a store of n items."""
    file, store, again = folder / "items.jsonl", folder / "s.duckdb", folder / "again.duckdb"
    with open(file, "w", encoding="utf-8") as out:
        for item in items(n):
            out.write(json.dumps({"kind": item.kind, **item.payload()}, ensure_ascii=False) + "\n")
    of = ("--store", store)
    result: dict[str, Any] = {"items": n, "import": measured("data", "import", file, *of)}
    result["dedup"] = measured("store", "dedup", *of, "--within", "fact", "--threshold", 0.8)
    rule = folder / "rule.toml"
    rule.write_text(
        '[rule]\n[[rule.thresholds]]\ncheck = "near_duplicate_in_fact"\nbelow = 0.8\nclusters = true\n', "utf-8"
    )
    result["freeze"] = measured("split", "freeze", "all", *of, "--rule", rule)
    result["export"] = measured("split", "export", "all", folder / "e.jsonl", *of)
    result["overlap"] = measured("split", "overlap", "mini", store)
    result["stats"] = measured("store", "stats", *of)
    result["dump"] = measured("store", "dump", folder / "d.jsonl", *of)
    for name in ("parquet", "counterfact"):
        result[f"export {name}"] = measured("split", "export", "all", folder / name, "--format", name, *of)
    result["rebuild"] = measured("store", "rebuild", folder / "d.jsonl", "--store", again)
    result["store_mib"] = round(store.stat().st_size / 2**20)
    return result


def main(sizes: tuple[int, ...] = (10_000, 100_000)) -> dict[str, Any]:
    """Growth over sizes; what was measured of others before stays."""
    path = Path(__file__).parent / "results" / "store.json"
    known = json.loads(path.read_text(encoding="utf-8"))["result"]["results"] if path.exists() else []
    results = {r["items"]: r for r in known if "dedup" in r}
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            results[n] = one(n, Path(folder)) | {"load": round(os.getloadavg()[0], 2)}
    what = "store of made items (of ten: one fact, four questions, four prompts, one verdict)"
    return {"what": what, "results": [results[n] for n in sorted(results)]}


if __name__ == "__main__":
    from benchmarks.run import write

    write("store", main(tuple(map(int, sys.argv[1:]))))
