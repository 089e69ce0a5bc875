"""SIGKILL at random moments of a run of cases by themselves, and of a sequence of edits of a tiny model."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from curation.files.journal import Journal
from evaluation.runs.runner import EditorOutcome
from schemas.runs import CaseResult
from tests.evaluation.engines.test_fast import OPTIONS
from tests.support import forked_programs as programs
from tests.support.arithmetic import make_cases, make_config
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.stats.nearly import nearly
from tests.support.tiny import make

EDITORS = [{"name": name, "params": OPTIONS[name]} for name in ("prompt", "ft", "rome")]
REGIMES: dict[str, Any] = {"single": "single", "sequential": {"name": "sequential", "size": [3, 8]}}


def run(out: Path, regime: str) -> list[EditorOutcome]:
    """A run of 8 cases under three methods and the unedited model, two cases a group."""
    config = make_config(out, editors=EDITORS, regime=REGIMES[regime], metrics=["es", "s_es", "s_ns"])
    return run_tiny(config, make_cases(8, 0), make("llama"))


PROGRAM = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from tests.evaluation.scenarios.test_killed import run
run(Path(sys.argv[1]), sys.argv[2])
"""


SHORT_CASES = """
import sys, time
from pathlib import Path
from tests.support.evaluation.runner_of import runner_of
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases, make_config

class Slow(ArithmeticLM):
    def score(self, probes, **more):
        time.sleep(0.03)
        return super().score(probes, **more)

runner_of(make_config(Path(sys.argv[1])), make_cases(12, 3), scorer=Slow(), make=ArithmeticEditor).run()
"""


def start(out: Path, regime: str) -> programs.Program:
    """A run in a process of its own, forked from one that has everything loaded, so that a kill costs no start."""
    return programs.start(PROGRAM, out, regime, modules=(__name__,))


def lines(out: Path) -> dict[str, dict[str, Any]]:
    """What the journals hold: everything of a line, times too, so that a unit done again would show."""
    results = {}
    for path in sorted(out.glob("*/journal.jsonl")):
        with Journal(path) as journal:
            results.update({f"{path.parent.name} {k}": v for k, v in journal.items()})
    return results


def numbers(data: dict[str, Any]) -> dict[str, Any]:
    """A unit's result less what time decides."""
    result = CaseResult.model_validate(data)
    return result.model_dump(mode="json", exclude={"seconds_edit", "seconds_score", "peak_bytes"})


def finished(out: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in out.glob("*/journal.jsonl"))


def killed_and_resumed(
    kills: int,
    begin: Callable[[Path], programs.Program],
    folder: Path,
    seed: int,
    check: Callable[[Path, Path, int], None] = lambda whole, out, shots: None,
    progress: Callable[[Path], int] = finished,
) -> None:
    """Kill at random numbers of finished units (or other lines), and a random moment later; compare with a whole run.

    A kill between two units of a group leaves the second to be scored alone, in a batch of another shape, whose last
    bits some processors compute differently: decimals are compared to 1e-5.

    ``check`` is told the undisturbed run, a killed one that has ended, and the number of kills so far.
    """
    draw = random.Random(seed)
    assert begin(folder / "whole").wait() == 0
    full_content, out = lines(folder / "whole"), folder / "killed0"
    want, payloads = nearly({k: numbers(v) for k, v in full_content.items()}), dict[str, dict[str, Any]]()
    assert not any(result["error"] for result in want.values())
    shots, total = 0, progress(folder / "whole")
    while True:
        child, made = begin(out), progress(out)
        aim, wait = made + draw.randint(0, max(1, (total - made) // (kills - shots + 1))), draw.uniform(0, 0.05)
        while shots < kills and progress(out) < min(aim, total - 1):
            time.sleep(0.002)
        if shots < kills:
            time.sleep(wait)
            child.kill()
        status, now = child.wait(), lines(out)
        assert status in (0, -signal.SIGKILL), child.stderr
        assert {k: now[k] for k in payloads} == payloads, "no finished unit was lost or done again"
        shots, payloads = shots + (status == -signal.SIGKILL), now
        if status == 0:
            assert {k: numbers(v) for k, v in now.items()} == want
            check(folder / "whole", out, shots)
            if shots == kills:
                return
            out, payloads = folder / f"killed{shots}", {}  # it had ended: the other shots hit a new run


@pytest.mark.slow
def test_many_short_cases_killed_three_times(tmp_path: Path) -> None:
    begin = partial(programs.start, SHORT_CASES, modules=(__name__,))
    killed_and_resumed(3, begin, tmp_path, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("regime", REGIMES)
def test_killed_eight_times(regime: str, tmp_path: Path) -> None:
    killed_and_resumed(8, partial(start, regime=regime), tmp_path, seed=20)
