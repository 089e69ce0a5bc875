"""Killed, torn, locked: a run goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from curation.files.journal import Journal
from evaluation.runs.plan import BASELINE
from schemas.core.errors import UserError
from schemas.runs import CaseResult
from tests.support import ROOT
from tests.support.arithmetic import answers, go, make_cases

KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.support.evaluation.runner_of import runner_of
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases, make_config

class Slow(ArithmeticLM):
    def score(self, probes, **more):
        time.sleep(0.03)
        return super().score(probes, **more)

runner_of(make_config(Path({out!r})), make_cases(12, 3), scorer=Slow(), make=ArithmeticEditor).run()
"""


def test_killed_and_resumed_is_the_same_run(tmp_path):
    """SIGKILL in the middle of the second method; nothing finished is done again, the results are the same."""
    out, lines = tmp_path / "killed", 4
    program = KILLED.format(root=str(ROOT), out=str(out))
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        journals = list(out.glob("push-*/journal.jsonl"))
        if journals and journals[0].read_bytes().count(b"\n") >= lines:
            break
        time.sleep(0.01)
    assert process.poll() is None, "it was to be killed while it worked"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (journal,) = out.glob("push-*/journal.jsonl")
    with Journal(journal) as log:
        keys = set(log.keys())
    assert lines <= len(keys) < 15
    split = make_cases(12, 3)
    outcomes, lm = go(out, split=split)
    assert len(lm.calls) == 15 - len(keys)
    full_run, _ = go(tmp_path / "whole", split=split)
    for label in (BASELINE, "push"):
        assert answers(outcomes[label].folder) == answers(full_run[label].folder)


def test_two_writers_are_refused(tmp_path):
    outcomes, _ = go(tmp_path, limit=2)
    with Journal(outcomes["push"].folder.journal, write=True), pytest.raises(UserError, match="another process"):
        go(tmp_path)


def test_results_survive_odd_numbers(tmp_path):
    result = CaseResult(run="r", case="c", notes={"loss": float("nan")})
    with Journal(tmp_path / "j", write=True) as journal:
        journal.append("c", result.model_dump(mode="json"))
        back = CaseResult.model_validate(journal["c"])
    assert str(back.notes["loss"]).lower() == "nan"
