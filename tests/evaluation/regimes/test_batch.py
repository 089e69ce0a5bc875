"""The batch regime: its units, and a batch that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evaluation.engines.simple import SimpleEngine
from evaluation.metrics import METRICS
from evaluation.regimes import table
from evaluation.regimes.base import RegimeContext, edits_digest
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.table import BatchRegime
from tests.support.arithmetic import ArithmeticEdit, ArithmeticEditor, ArithmeticLM, make_cases


def test_units_are_named_by_their_batch() -> None:
    cases = make_cases(5, 0).cases
    units = BatchRegime(RegimeChoice(name="batch", size=2)).units(cases)
    assert [(u.after, u.position) for u in units] == [(2, 1), (2, 2), (2, 1), (2, 2), (1, 1)]
    assert [u.key for u in units[:2]] == [f"{c.key}@{edits_digest(cases[:2])}" for c in cases[:2]]


def test_training_at_the_putting_on_counts_as_editing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every look at the clock takes a second, putting the edit on 100."""
    cases, lm, metric = make_cases(2, 0).cases, ArithmeticLM(), METRICS.get("es")()
    clock = [0.0]

    def look() -> float:
        clock[0] += 1.0
        return clock[0]

    @contextmanager
    def late(edit: ArithmeticEdit, model: Any) -> Iterator[Any]:
        clock[0] += 100.0
        yield model

    monkeypatch.setattr(table.time, "perf_counter", look)
    monkeypatch.setattr(ArithmeticEdit, "on", late)
    regime = BatchRegime(RegimeChoice(name="batch", size=2))
    context = RegimeContext(cases, ArithmeticEditor("push", {}), SimpleEngine(lm), lm, tmp_path, "run")
    results = [d for _, d in regime.run(regime.units(cases), lambda u: tuple(metric.probes(u.case)), context)]
    assert [50.0 < d.seconds_edit < 60.0 for d in results] == [True, True], "half of it each"
