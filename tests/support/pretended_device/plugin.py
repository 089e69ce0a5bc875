"""A pytest plugin: tests with tiny models run as they are, but their models lie on a pretended card.

    SCEDIT_REFUSALS=out.json python -m pytest -p tests.support.pretended_device.plugin tests/evaluation/inference

A test that compares with tensors of the CPU may fail, which is its own affair. What counts is written to the file that
SCEDIT_REFUSALS names: by test, whether it passed, and what the product did that a card refuses.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import tiny
from tests.support.pretended_device import pretended

_OUTCOMES: dict[str, dict[str, Any]] = {}


@pytest.fixture(autouse=True)
def on_a_pretended_card(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with one card for every test; tiny models are made on it."""
    monkeypatch.setattr(tiny, "DEVICE", "cuda")
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")  # the pretended device is seen by one thread
    with pretended() as machine:
        yield
    refused = [what for what in machine.counts.refused if not what.startswith("tests/")]
    launched = sum(count for place, count in machine.counts.launches.items() if not place.startswith("tests/"))
    _OUTCOMES[request.node.nodeid] = {"refused": refused, "launched": launched, "passed": False}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what passed: the fixture's end comes after the call."""
    if report.when == "teardown" and report.nodeid in _OUTCOMES:
        _OUTCOMES[report.nodeid]["passed"] = report.nodeid in _PASSED
    elif report.when == "call" and report.passed:
        _PASSED.add(report.nodeid)


_PASSED: set[str] = set()


def pytest_sessionfinish() -> None:
    """Write the outcomes."""
    if target := os.environ.get("SCEDIT_REFUSALS"):
        Path(target).write_text(json.dumps(_OUTCOMES, indent=1), encoding="utf-8")
