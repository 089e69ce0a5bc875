"""The example report of the docs, made whole: run, scripts, judges, raters in a browser, calibration, report.

    python -m benchmarks.report_example            (repository root; needs Chromium; nine minutes of one idle core)
    python -m benchmarks.report_example run        only the model's part, which takes long and goes on when killed
    python -m benchmarks.report_example rate       the judges and raters of a run that is there
    python -m benchmarks.report_example render     only the page, from what is there

The judge ``scripted`` and the raters are programs and named so: nothing here says how people or judges agree. What the
report shows is real work of SmolLM2-135M, which writes no usable scripts.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import Assignment, RatingsDB
from curation.store.store import Store
from evaluation.judge.inputs import script_inputs
from evaluation.judge.ratings import expected_ratings, named_objects
from tests.support.app import served_app as served
from tests.support.judge import by_rubric
from tests.support.scripted_server import ScriptedServer

RUN = Path("runs/example")
PAGE = Path("docs/example/report.html")
RATERS = ("synthetic-a", "synthetic-b")
RATED = 16
FIELDS = {"rate_executability": ("executability",), "rate_script": ("coherence", "consistency", "completeness")}


def scedit(*args: object) -> None:
    """One command of ours; it ends the program when it fails."""
    print("$ scedit", *args, flush=True)
    subprocess.run([sys.executable, "-m", "scedit", *map(str, args)], check=True)


def rate(store: Path, ratings: Path, task: str) -> None:
    """Two raters answer what the browser shows, by the rubric's rules and chance; broken off it begins anew."""
    ratings.unlink(missing_ok=True)
    with Store.open(store) as opened, RatingsDB(ratings, create=True) as db:
        asks = {ask.item: ask for ask in script_inputs(opened)}
        items = sum(1 for _ in make_task(task).items(opened))
        create_campaign(
            db, opened, task, make_task(task), CampaignOptions(overlap=2, batch=100, percent=100 * RATED / items)
        )
        secrets = {name: people.invite(db, name, synthetic=True) for name in RATERS}
        assign_items(db, task)
        work = {name: db.assignments(task, name) for name in RATERS}
    with served.served(ratings) as app, served.browser() as browser:
        for name, secret in secrets.items():
            page = browser.new_context().new_page()
            served.enter(page, app, secret)
            for n, assigned in enumerate(work[name]):
                served.rate(page, answers_for(assigned, task, name, asks), n, len(work[name]))


def answers_for(assigned: Assignment, task: str, rater: str, asks: dict[str, Any]) -> list[str]:
    """A rater's answers to an item."""
    ask, draw = asks[assigned.item], random.Random(f"{rater}/{task}/{assigned.item}")
    rules = expected_ratings(named_objects(ask.text, ask.fact))
    steps = ask.text.count("Step ")
    likely = {"executability": min(5, 1 + steps), "coherence": 5, "consistency": 6, "completeness": min(5, 1 + steps)}
    values = (rules.get(f) or likely[f] + draw.choice((-1, 0, 0, 1)) for f in FIELDS[task])  # type: ignore[call-overload]
    return [str(min(7, max(1, v))) for v in values]


def write() -> None:
    """The model's part: edits, scores, scripts."""
    scedit("run", "configs/example.toml")


def judge_and_rate() -> None:
    """Judges and raters of the scripts; finished steps are found done."""
    store = RUN / "store.duckdb"
    if not store.exists():
        scedit("split", "add", "mini", "--store", store)
    scedit("results", "extract-scripts", RUN, "--store", store)
    with ScriptedServer(by_rubric) as server:
        scedit("judge", store, "--model", "scripted", "--base-url", server.url, "--retest", "0.05")
    few = ("--limit", 4, "--seed", 1, "--no-control-items", "--retest", 0)
    scedit("judge", store, "--model", "embedded", *few)
    for task in FIELDS:
        ratings = RUN / f"{task}.sqlite"
        if not ratings.with_suffix(".done").exists():
            rate(store, ratings, task)
            ratings.with_suffix(".done").touch()
        scedit("annotate", "import", task, "--ratings", ratings, "--store", store)
    scedit("results", "calibrate", store, "--judge", "scripted")


def render() -> None:
    """The page, by the present program."""
    scedit("report", RUN, "--store", RUN / "store.duckdb", "--out", PAGE, "--force")


STAGES = {"run": write, "rate": judge_and_rate, "render": render}


def main() -> None:
    """The stages that are named, or all."""
    for stage in sys.argv[1:] or STAGES:
        STAGES[stage]()


if __name__ == "__main__":
    main()
