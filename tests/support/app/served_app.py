"""The rating app in a process of its own, and a browser that looks at it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from annotation_ui.child_environment import child_environment
from annotation_ui.cli.serve import command

CHROMIUM = os.environ.get("SCEDIT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")

PATIENCE = 120.0  # seconds that everything here waits at the most: a test beside others may wait long for a processor


def need_browser() -> None:
    """Skip where there is no browser, and say so."""
    pytest.importorskip("streamlit", reason="streamlit is not installed")
    pytest.importorskip("playwright", reason="playwright is not installed")
    if not CHROMIUM:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")


class App:
    """The served app; ``kill`` and ``start`` again what a crash and a restart are."""

    def __init__(self, ratings: Path, store: Path | None = None) -> None:
        self.ratings, self.store, self.port = ratings, store, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        words = command(self.ratings, self.store, host="127.0.0.1", port=self.port)
        self.process = subprocess.Popen(
            words,
            env=child_environment("STREAMLIT_"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if httpx.get(f"{self.url}_stcore/health", timeout=PATIENCE, trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.25)
        raise AssertionError("the app did not start")

    def kill(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(ratings: Path, store: Path | None = None) -> Iterator[App]:
    app = App(ratings, store)
    app.start()
    try:
        yield app
    finally:
        app.kill()


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as play:
        instance = play.chromium.launch(timeout=PATIENCE * 1000, executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield instance
        finally:
            instance.close()


def enter(page: Any, app: App, secret: str) -> None:
    page.context.set_default_timeout(PATIENCE * 1000)
    page.goto(app.url)
    page.get_by_label("Secret").fill(secret)
    page.get_by_role("button", name="Log in").click()


def settled(page: Any, done: int, of: int) -> None:
    """Wait until the count says so, once, and the page that goes with it is whole.

    While a page is made anew, Streamlit shows the count of before and the one of now for a moment; a page that is
    whole and still says it twice is a fault.
    """
    count_is(page, done, of)
    page.locator("[data-test-script-state='notRunning']").wait_for()


def count_is(page: Any, done: int, of: int) -> None:
    """Wait until the page shows this count exactly once."""
    from playwright.sync_api import expect

    expect(page.get_by_text(f"{done} of {of} done")).to_have_count(1, timeout=PATIENCE * 1000)


def rate(page: Any, values: list[str], done: int, of: int) -> None:
    """Answer the form that is shown with one choice a question, save, and wait until the count says so."""
    settled(page, done, of)
    groups = page.get_by_role("radiogroup")
    for n, value in enumerate(values):
        groups.nth(n).get_by_text(value, exact=True).click()
    page.get_by_role("button", name="Save and next").click()
    count_is(page, done + 1, of)
