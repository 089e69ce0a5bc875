"""A lead's figures, kept until the answers change: shown at once, and brought up to date by one process at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from annotation_ui.agreement.overview import Overview
from annotation_ui.child_environment import child_environment
from schemas.core.errors import UserError

PATIENCE = 2.0  # seconds that a page waits for figures that were never there
REST = 4.0  # times the seconds of a computing that pass before the next: at most a fifth of a processor
LONGEST = 3600.0  # seconds after which a computing is given up


class CampaignKey(NamedTuple):
    """Whose figures."""

    ratings: Path
    campaign: str
    store: Path | None = None


class HeldOverview(NamedTuple):
    """The figures that there are: None before the first. ``current``: of the present answers. ``fault``: in words."""

    overview: Overview | None
    current: bool
    fault: str = ""


class OverviewCache:
    """Figures by campaign. One process at a time computes, in the background; what is there is shown meanwhile.

    Args:
        compute: How; by a process of its own where nothing is said.
    """

    def __init__(self, compute: Callable[[CampaignKey], Overview] | None = None) -> None:
        self._compute = compute or compute_apart
        self._lock, self._turn = threading.Condition(), threading.Lock()
        self._overviews: dict[CampaignKey, Overview] = {}
        self._faults: dict[tuple[CampaignKey, str], str] = {}
        self._running: set[CampaignKey] = set()
        self._rest_until: dict[CampaignKey, float] = {}
        self.computed = 0

    def held(self, key: CampaignKey, digest: str, *, patience: float | None = None) -> HeldOverview:
        """The figures of a campaign; a computing is begun where they are not those of ``digest``.

        Args:
            key: Of the campaign.
            digest: Of the present answers, by ``answers_digest``.
            patience: Seconds to wait where there are none at all.
        """
        end = time.monotonic() + (PATIENCE if patience is None else patience)
        with self._lock:
            while True:
                overview, fault = self._overviews.get(key), self._faults.get((key, digest), "")
                current = overview is not None and overview.digest == digest
                if current or fault:
                    return HeldOverview(overview, current, fault)
                self._begin(key, digest)
                left = end - time.monotonic()
                if overview is not None or left <= 0:
                    return HeldOverview(overview, False)
                self._lock.wait(left)

    def _begin(self, key: CampaignKey, digest: str) -> None:
        if key in self._running or time.monotonic() < self._rest_until.get(key, 0.0):
            return
        self._running.add(key)
        threading.Thread(target=self._work, args=(key, digest), daemon=True).start()

    def _work(self, key: CampaignKey, digest: str) -> None:
        overview, fault, start = None, "", time.monotonic()
        try:
            with self._turn:
                start = time.monotonic()
                overview = self._compute(key)
        except UserError as error:
            fault = str(error)
        except Exception as error:  # noqa: BLE001  a page that waits must be told
            fault = f"the figures could not be computed: {type(error).__name__}: {error}"
        with self._lock:
            self.computed += 1
            self._running.discard(key)
            if overview is not None:
                self._overviews[key] = overview
                self._rest_until[key] = time.monotonic() + REST * (time.monotonic() - start)
            else:
                self._faults[key, digest] = fault
            self._lock.notify_all()


@cache
def shared_cache() -> OverviewCache:
    """The one of this process: all visits share it."""
    return OverviewCache()


def compute_apart(key: CampaignKey) -> Overview:
    """Compute in a process of its own, so that people who rate do not wait for it.

    Raises:
        UserError: it failed; says with what.
    """
    root = str(Path(__file__).resolve().parents[2])
    env = child_environment() | {"PYTHONPATH": os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH")) if p)}
    words = [sys.executable, "-m", "annotation_ui.agreement.overview", str(key.ratings.absolute()), key.campaign]
    words += [str(key.store.absolute())] if key.store else []
    try:
        done = subprocess.run(
            words, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LONGEST, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"the figures could not be computed: {error}", where=key.campaign) from None
    try:
        return Overview.model_validate_json(done.stdout)
    except ValidationError:
        messages = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise UserError(f"the figures could not be computed: {messages[-1]}", where=key.campaign) from None
