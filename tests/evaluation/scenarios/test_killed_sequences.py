"""SIGKILL at random moments of sequences with snapshots: all is as in an undisturbed run, down to the last bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.case_sources.support import Support
from curation.splits.split_file import make_split
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.regimes.sequence_log import FILE, tensors_in
from schemas.cases import Case
from tests.contracts.test_editors import SUPPORT
from tests.evaluation.scenarios.test_killed import killed_and_resumed
from tests.support import forked_programs as programs
from tests.support.arithmetic import make_config
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.facts import peru_fact
from tests.support.tiny import make

METHODS: dict[str, dict[str, Any]] = {
    "prompt": {},
    "ft": {"layer": 1, "steps": 2},
    "rome": {"layer": 1, "steps": 2, "covariance": False, "templates": ["{}"]},
    "ultraedit": {"layers": [1]},
    "grace": {"layer": 1, "steps": 2},
}


def run(out: Path, methods: list[str], edits: int) -> None:
    """A sequence of every method on a tiny model; a snapshot every three edits and at the lengths."""
    lm = make("llama")
    editors = [{"name": name, "params": METHODS[name]} for name in methods]
    regime = {"name": "sequential", "size": [1, 10, edits], "sample": 4, "snapshot_every": max(3, edits // 20)}
    config = make_config(out, editors=editors, regime=regime, metrics=["es"])
    cases = [Case(key=f"c/{n:04}", fact=peru_fact(f"f/{n:04}")) for n in range(edits)]
    support = Support(cases=tuple(SUPPORT), digest="s")
    run_tiny(config, make_split("many", cases), lm, engine=SimpleEngine(ModelScorer(lm)), support=support)


PROGRAM = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from tests.evaluation.scenarios.test_killed_sequences import run
run(Path(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3]))
"""


def last_states(out: Path) -> dict[str, Any]:
    """By method the newest snapshot: its tensors, and the rest as text without times and memory."""
    states = {}
    for folder in sorted(out.glob("*/snapshots")):
        newest = max(folder.iterdir())
        found = torch.load(newest, weights_only=False)
        step = found["step"]._replace(seconds=0.0, peak_bytes=None)
        tensors = [tensor.numpy().tobytes() for tensor in tensors_in(found["state"])]
        states[folder.parent.name] = (newest.name[:12], tensors, step, found["failed"], found["digest"])
    return states


def edits_made(out: Path) -> int:
    """Lines of the logs of edits."""
    return sum(path.read_bytes().count(b"\n") for path in out.glob(f"*/{FILE}"))


def same_states(whole: Path, out: Path, shots: int) -> None:
    mine, theirs = last_states(out), last_states(whole)
    assert mine.keys() == theirs.keys() and mine
    for method, state in theirs.items():
        assert mine[method] == state, method


def killed(kills: int, folder: Path, methods: list[str], edits: int, seed: int) -> None:
    def begin(out: Path) -> programs.Program:
        return programs.start(PROGRAM, out, ",".join(methods), str(edits), modules=(__name__,))

    killed_and_resumed(kills, begin, folder, seed, same_states, edits_made)


@pytest.mark.slow
def test_long_sequences_killed_five_times(tmp_path: Path) -> None:
    """A thousand edits a method where every fact is asked for: that takes minutes a method."""
    edits = 1000 if os.environ.get("SCEDIT_EVERY_FACT") else 40
    killed(5, tmp_path, ["prompt", "ft", "rome", "ultraedit", "grace"], edits, seed=5)
