"""Rows that differ in the seed alone stand together; anything else keeps them apart."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import stdev
from typing import Any

import pytest

from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.analysis.repeats.seed_variation import seed_variation
from evaluation.metrics.base import Summary


@dataclass(frozen=True)
class Named:
    name: str


def row(label: str, mean: float | None, *, cases: int = 6, editor: str = "lora", variant: str = "", pending: int = 0,
        failed: int = 0, **params: Any) -> MethodRow:  # fmt: skip
    summary = Summary("s_es", mean, 0.1, cases, cases)
    return MethodRow(label, editor, params, False, {"s_es": summary}, {}, cases, failed, pending, None, None, None, (),
                     variant=variant)  # fmt: skip


def found(*rows: MethodRow):
    return seed_variation(Comparison("all", 6, rows, {}), [Named("s_es")])


def test_mean_spread_and_range_over_seeds() -> None:
    (one,) = found(row("b", 0.7, seed=1, rank=8), row("a", 0.5, seed=0, rank=8), row("c", 0.6, seed=2, rank=8))
    (metric,) = one.metrics
    assert one.labels == ("a", "b", "c") and metric.values == (("0", 0.5), ("1", 0.7), ("2", 0.6))
    assert metric.mean == pytest.approx(0.6) and metric.sd == pytest.approx(stdev([0.5, 0.7, 0.6]))
    assert (metric.low, metric.high) == (0.5, 0.7)


@pytest.mark.parametrize(
    "other",
    [
        row("b", 0.7, seed=1, rank=4),
        row("b", 0.7, seed=1, rank=8, editor="mend"),
        row("b", 0.7, seed=0, rank=8),
        row("b", 0.7, seed=1, rank=8, variant="relabel@1"),
        row("b", 0.7, seed=1, rank=8, pending=2),
        row("b", 0.7, seed=1, rank=8, failed=1),
        row("b", 0.7, rank=8),
    ],
)
def test_other_settings_are_no_repeat(other: MethodRow) -> None:
    assert found(row("a", 0.5, seed=0, rank=8), other) == []


def test_other_cases_and_missing_values_give_no_spread() -> None:
    first = row("a", 0.5, seed=0)
    for other in (row("b", 0.7, seed=1, cases=5), row("b", None, seed=1)):
        (one,) = found(first, other)
        assert one.metrics == ()
    assert found(first) == []
