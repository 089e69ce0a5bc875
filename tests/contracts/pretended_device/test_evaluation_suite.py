"""The project's own tests of evaluation, run once more with their models on a pretended card: the product is clean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

QUICK = ["edits"]
WIDE = ["regimes", "saved_edits", "engines"]
"""Those of methods: ``test_editors_suite``, a file of its own for another worker. Not ``inference`` and ``models``:
tests there hand tensors of their own, on the CPU, to the product."""

ONE_LAYOUT = (
    () if os.environ.get("SCEDIT_EVERY_LAYOUT") else ("-k", "not gpt2 and not equal and not plain and not full_passes")
)
"""Tests that run for two layouts run for one here, as the suites of methods and runs try all layouts on the card; those
that compare with a plain twin are left out, since the twin computes on the CPU and is refused."""


def check(folders: list[str], out: Path, *, minimum: int) -> None:
    """Run the tests on the card, whatever they find; the product must do nothing that a card refuses."""
    words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.support.pretended_device.plugin"]
    ended = subprocess.run(
        [*words, *ONE_LAYOUT, *(f"tests/evaluation/{name}" for name in folders)],
        cwd=ROOT,
        env={**os.environ, "SCEDIT_REFUSALS": str(out), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    outcomes = json.loads(out.read_text()) if out.is_file() else {}
    on_card = [name for name, one in outcomes.items() if one["launched"] and one["passed"]]
    assert len(on_card) >= minimum, f"{len(on_card)} tests computed on the card and passed\n{ended.stdout[-2000:]}"
    refused = {name: one["refused"] for name, one in outcomes.items() if one["refused"]}
    assert not refused, refused


def test_a_few_of_its_tests(tmp_path: Path) -> None:
    check(QUICK, tmp_path / "refusals.json", minimum=20)


@pytest.mark.slow
@pytest.mark.parametrize("folder", WIDE)
def test_all_of_a_folder(folder: str, tmp_path: Path) -> None:
    check([folder], tmp_path / "refusals.json", minimum=1)
