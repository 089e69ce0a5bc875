"""Time to save an answer: ten rater processes at once, beside one rater alone.

    python -m benchmarks.annotation [--saves 100]

Writes benchmarks/results/annotation.json. Answers are made by programs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.records import Assignment, Campaign, CampaignItem
from annotation_ui.tasks.base import TaskItem

RESULTS = Path(__file__).with_name("results") / "annotation.json"


def make(path: Path, people: list[str], saves: int) -> None:
    with RatingsDB(path, create=True) as db:
        db.add_campaign(Campaign("load", "rate_executability", "rate_executability@1", {"overlap": 10}, "2026"))
        items = [
            CampaignItem(TaskItem(id=f"{n:020x}", case=f"c{n}", shown={"script": "Step 1: Go"})) for n in range(saves)
        ]
        assigned = [Assignment(p, i.item.id, 1, n) for p in people for n, i in enumerate(items)]
        db.add_items("load", items, assigned)


def rate(path: Path, person: str, out: Any) -> None:
    times = []
    with RatingsDB(path) as db:
        for n, a in enumerate(db.assignments("load", person)):
            start = time.perf_counter()
            db.save("load", person, a.item, {"executability": n % 7 + 1}, form="rate_executability@1", seconds=1.0)
            times.append(1000 * (time.perf_counter() - start))
    out.put(times)


def measure(raters: int, saves: int) -> dict[str, Any]:
    """Milliseconds a save, over all raters; the file is on the machine's temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        path, people = Path(folder) / "r.sqlite", [f"synthetic-{n}" for n in range(raters)]
        make(path, people, saves)
        context = multiprocessing.get_context("spawn")
        out = context.Queue()
        start = time.perf_counter()
        workers = [context.Process(target=rate, args=(path, p, out)) for p in people]
        for w in workers:
            w.start()
        times = sorted(t for _ in workers for t in out.get())
        for w in workers:
            w.join()
        seconds = time.perf_counter() - start
        with RatingsDB(path) as db:
            history = db.history("load")
    return {
        "raters": raters,
        "saves": len(times),
        "kept": len(history),
        "twice": len(history) - len({(r.person, r.item) for r in history}),
        "p50_ms": round(statistics.median(times), 2),
        "p95_ms": round(times[int(0.95 * len(times))], 2),
        "max_ms": round(times[-1], 2),
        "seconds_with_start": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--saves", type=int, default=100)
    saves = parser.parse_args().saves
    rows = [measure(raters, saves) for raters in (1, 10)]
    environment = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "settings": "WAL, synchronous=FULL, BEGIN IMMEDIATE",
    }
    RESULTS.write_text(json.dumps({"about": environment, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
