"""A timed round in the rating app, by keyboard only: scripts times four aspects, as the paper rates them.

    python -m benchmarks.rating.timed_round [--scripts 100]

A browser (Chromium) presses the keys, one an aspect: the last one saves (120 ms later, so that a slip can be mended).
"seen" is the time from that key to the next item listening to keys, as a rater has it; "wire" is the part of it from
the browser's message to the server's word that the page is whole, both as the browser notes them; "server" is what the
page's own server spends between, taken as the run of the page without a browser (the save, the next item, its form), on
the clock and in processor time, which other programs on the machine do not lengthen. Writes
benchmarks/results/timed_round.json. Answers are made by a program.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.records import Assignment, Campaign, CampaignItem
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.base import TaskItem
from tests.support.app import served_app as served

RESULTS = Path(__file__).parents[1] / "results" / "timed_round.json"
TASK_NAMES = ("rate_executability", "rate_script")
STEPS = "\n".join(f"Step {n}: Book a room near the station in Lima" for n in range(1, 9))
TEXTS = {"fact": "The capital of Peru is Oslo", "new": "Oslo", "old": "Lima", "counts": "Oslo", "script": STEPS}
KEYS = {"rate_executability": "5", "rate_script": "375"}


def make(path: Path, scripts: int) -> str:
    """Two campaigns of the same scripts; the secret of their rater."""
    with RatingsDB(path, create=True) as db:
        secret = raters.invite(db, "synthetic-ann", synthetic=True)
        for k, name in enumerate(TASK_NAMES):
            form = TASKS.get(name).form
            shown = {s.name: TEXTS.get(s.name, "How do I plan a weekend in the capital of Peru?") for s in form.shows}
            items = [
                CampaignItem(TaskItem(id=f"{n:020x}", case=f"c{n}", shown=shown | {"script": f"{STEPS}\nStep 9: {n}"}))
                for n in range(scripts)
            ]
            settings = {"overlap": 1, "batch": 500, "group": "paper"}
            db.add_campaign(Campaign(name, name, form.label, settings, f"202{k}"))
            db.add_items(name, items, [Assignment("synthetic-ann", i.item.id, 1, n) for n, i in enumerate(items)])
    return secret


class Messages:
    """When the page asked the server for a run, and when the server said that one had ended."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.sent: list[float] = []
        self.ended: list[float] = []
        page.on("websocket", self._listen)

    def _listen(self, socket: Any) -> None:
        from streamlit.proto.BackMsg_pb2 import BackMsg
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        def sent(payload: bytes | str) -> None:
            if isinstance(payload, bytes) and BackMsg.FromString(payload).WhichOneof("type") == "rerun_script":
                self.sent.append(time.perf_counter())

        def received(payload: bytes | str) -> None:
            if isinstance(payload, bytes) and ForwardMsg.FromString(payload).WhichOneof("type") == "script_finished":
                self.ended.append(time.perf_counter())

        socket.on("framesent", sent)
        socket.on("framereceived", received)

    def since(self, start: float) -> float:
        """Milliseconds from the first run asked for after a moment to the last one that ended."""
        self.page.locator("[data-test-script-state='notRunning']").wait_for()
        while not self.ended or self.ended[-1] < start:
            self.page.wait_for_timeout(1)
        return 1000 * (max(self.ended) - min(t for t in self.sent if t >= start))


def seen(path: Path, secret: str, scripts: int) -> tuple[list[float], list[float], int]:
    """Milliseconds from the key that saves to the next item, those of the server, and the keys that were pressed."""
    ready = "(before) => { const now = document.documentElement.dataset.sceditForm; return now && now !== before; }"
    times, wire, pressed = [], [], 0
    with served.served(path) as app, served.browser() as browser:
        page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
        messages = Messages(page)
        served.enter(page, app, secret)
        for name in TASK_NAMES:
            page.get_by_text(f"0 of {scripts} done").wait_for()
            for n in range(scripts):
                page.wait_for_function(ready, arg="")
                form = page.evaluate("document.documentElement.dataset.sceditForm")
                for key in KEYS[name][:-1]:
                    page.keyboard.press(key)
                start = time.perf_counter()
                page.keyboard.press(KEYS[name][-1])
                pressed += len(KEYS[name])
                if n < scripts - 1:
                    page.wait_for_function(ready, arg=form)
                    times.append(1000 * (time.perf_counter() - start))
                    wire.append(messages.since(start))
            page.get_by_text(f"{scripts} of {scripts} done").wait_for()
            if name != TASK_NAMES[-1]:
                page.get_by_role("button", name="Go on with").click()
    return times, wire, pressed


def server(path: Path, scripts: int) -> tuple[list[float], list[float]]:
    """Milliseconds of the page's run that saves an answer and shows the next item: on the clock, and of processor."""
    from streamlit.testing.v1 import AppTest

    from tests.annotation_ui.app.conftest import _page

    arguments = {"module": "rate", "function": "show", "ratings": str(path), "person": "synthetic-ann", "token": "",
             "store": ""}  # fmt: skip
    page = AppTest.from_function(_page, kwargs=arguments, default_timeout=60).run()
    times, worked = [], []
    for name in TASK_NAMES:
        for _ in range(scripts):
            for radio, key in zip(page.radio, KEYS[name], strict=True):
                radio.set_value(int(key))
            (save,) = [b for b in page.button if b.label == "Save and next"]
            save.click()
            start, begun = time.perf_counter(), time.process_time()
            page.run()
            worked.append(1000 * (time.process_time() - begun))
            times.append(1000 * (time.perf_counter() - start))
        for b in page.button:
            if b.label.startswith("Go on with"):
                b.click().run()
    return times, worked


def summary(times: list[float]) -> dict[str, Any]:
    """Median, 95th percentile and worst, in milliseconds."""
    ordered = sorted(times)
    return {
        "n": len(ordered),
        "p50_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[int(0.95 * len(ordered))], 1),
        "max_ms": round(ordered[-1], 1),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripts", type=int, default=100)
    scripts = parser.parse_args().scripts
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "server.sqlite", scripts)
        on_server, of_processor = server(Path(folder) / "server.sqlite", scripts)
        path = Path(folder) / "seen.sqlite"
        in_browser, wire, pressed = seen(path, make(path, scripts), scripts)
        with RatingsDB(path) as db:
            answers = sum(len(db.history(name)) for name in TASK_NAMES)
    results = {
        "about": {
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "load": [round(load, 1), round(os.getloadavg()[0], 1)],
            "nice": os.nice(0),
            "python": platform.python_version(),
        },
        "scripts": scripts,
        "aspects": 4,
        "kept": answers,
        "keys": pressed,
        "keys_an_aspect": round(pressed / (4 * scripts), 2),
        "server": summary(on_server),
        "server_processor": summary(of_processor),
        "wire": summary(wire),
        "seen": summary(in_browser),
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
