"""Perplexities by hand, windows of edits, and runs that have none of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from curation.stats.intervals import Interval
from evaluation.analysis.sequences import (
    SequenceState,
    perplexity,
    perplexity_ratio,
    sequence_states,
    state_table,
)
from evaluation.regimes.sequence_log import FILE, StateEntry, TextScore, WeightNorm
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


def test_a_state_as_a_row() -> None:
    norms = tuple(WeightNorm(weight=n, norm=3.0, ratio=r, routed=False) for n, r in (("a", 0.5), ("b", 0.01)))
    perplexities = (Interval(20.0, None, 24, (15.0, 25.0), unit="perplexity"), Interval(1.25, None, 24, unit="ratio"))
    seconds = Interval(0.5, None, 900, (0.4, 0.6), unit="s")
    state = SequenceState("m", 1000, *perplexities, norms, seconds, Interval(None, None, 0), 2**30, 3 * 2**19, 900, 2)
    one = state._replace(norms=norms[:1], peak_bytes=None, failed=0)
    first, second, third = state_table([state, one, state._replace(norms=())]).rows
    assert (first[:2], first[4], first[7:]) == (("m", "1,000 (2 failed)"), "0.01 to 0.5", ("1,024", "1.5"))
    assert (second[1], second[4], second[7], third[4]) == ("1,000", "0.5", None, None)
