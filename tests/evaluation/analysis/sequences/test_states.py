"""Perplexities by hand, windows of edits, and runs that have none of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from evaluation.analysis.sequences.states import perplexity, perplexity_ratio, sequence_states
from evaluation.regimes.sequence_log import FILE, StateEntry, TextScore
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from tests.support.arithmetic import unfinish
from tests.support.report.fading import run

BEFORE = StateEntry(
    after=0,
    texts=(TextScore(item="a", logprob=-10.0, tokens=10), TextScore(item="b", logprob=-40.0, tokens=20)),
)
AFTER = StateEntry(
    after=5,
    texts=(TextScore(item="a", logprob=-20.0, tokens=10), TextScore(item="b", logprob=-60.0, tokens=20)),
)


def test_perplexity_is_over_all_tokens_and_its_ratio_paired() -> None:
    found, ratio = perplexity(AFTER), perplexity_ratio(AFTER, BEFORE)
    assert found.mean == pytest.approx(math.exp(80 / 30)) and (found.n, found.unit) == (2, "perplexity")
    assert ratio.mean == pytest.approx(math.exp(1.0)) and ratio.unit == "ratio"
    assert found.low is ratio.low is None, "two texts are too few for an interval"
    assert perplexity_ratio(AFTER, None).mean is None


def test_states_of_a_run(tmp_path: Path) -> None:
    states = sequence_states(load_run(run(tmp_path)))
    assert [(s.edits, s.made, s.failed) for s in states] == [(1, 1, 0), (2, 1, 0), (4, 2, 0)]
    assert states[2].seconds.n == 2 and states[2].perplexity.n == 24 and states[2].norms == ()
    assert states[2].peak_bytes


def test_runs_without_a_log_have_none_and_others_are_refused(tmp_path: Path) -> None:
    for path in run(tmp_path / "a").glob(f"*/{FILE}"):
        path.unlink()
    unfinish(tmp_path / "a")
    assert sequence_states(load_run(tmp_path / "a")) == []
    with pytest.raises(UserError, match="the run's regime is 'single'"):
        sequence_states(load_run(run(tmp_path / "b", regime="single")))
