"""Processor time of a visit to the lead's pages with 7,200 answers: computed at every visit, and once for every change.

    python -m benchmarks.rating.lead_page

Writes benchmarks/results/lead_page.json. Answers are made by programs.
"""

from __future__ import annotations

import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from annotation_ui.app.lead.progress import quick_figures, slow_figures
from annotation_ui.campaigns.campaign import form_digest, make_task
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.records import Assignment, Campaign, CampaignItem
from annotation_ui.tasks.base import TaskItem

RESULTS = Path(__file__).resolve().parents[1] / "results" / "lead_page.json"
ITEMS, PEOPLE = 800, ("synthetic-a", "synthetic-b", "synthetic-c")


def fill(db: RatingsDB) -> None:
    """800 scripts of 200 cases, each rated by three on three aspects: 7,200 answers."""
    rng, task = random.Random(1), make_task("rate_script")
    items = [
        CampaignItem(TaskItem(id=f"{n:016x}", case=f"c{n // 4}", stratum=f"m{n % 4}", shown={"script": "Step 1: Go"}))
        for n in range(ITEMS)
    ]
    db.add_campaign(Campaign("load", "rate_script", task.form.label, {"form_digest": form_digest(task.form)}, "2026"))
    db.add_items("load", items, [Assignment(p, i.item.id, 1, n) for p in PEOPLE for n, i in enumerate(items)])
    for n, item in enumerate(items):
        base = rng.gauss(3.5 + n % 4 / 2, 1.2)
        for person in PEOPLE:
            answers = {f.name: max(1, min(7, round(base + rng.gauss(0, 1)))) for f in task.form.asked_fields()}
            db.save("load", person, item.item.id, answers, form=task.form.label, seconds=20 + 10 * rng.random())


def processor(work: Callable[[], object]) -> float:
    """Seconds of processor time of this process and of those that it started and that ended."""

    def used() -> float:
        t = os.times()
        return t.user + t.system + t.children_user + t.children_system

    start = used()
    work()
    return used() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, RatingsDB(Path(folder) / "r.sqlite", create=True) as db:
        db.connection.execute("PRAGMA synchronous = OFF")
        fill(db)

        def visit() -> None:
            quick_figures(db, "load")
            slow_figures(db, "load", None)

        rows = {
            "first visit after a change": processor(visit),
            "next visit": min(processor(visit) for _ in range(5)),
        }
        start = time.perf_counter()
        visit()
        rows["next visit, wall clock"] = time.perf_counter() - start
    environment = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "python": platform.python_version()}
    results = {"about": environment, "answers": ITEMS * 9, "seconds": {k: round(v, 3) for k, v in rows.items()}}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
