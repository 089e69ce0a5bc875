"""Rows that differ in the seed alone are one table; anything else keeps them apart."""

from __future__ import annotations

from statistics import stdev
from types import SimpleNamespace
from typing import Any

import pytest

from evaluation.analysis.breakdown import seed_tables
from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.metrics.base import Summary


def row(label: str, mean: float | None, *, cases: int = 6, editor: str = "lora", variant: str = "", pending: int = 0,
        failed: int = 0, **params: Any) -> MethodRow:  # fmt: skip
    summary = Summary("s_es", mean, 0.1, cases, cases)
    return MethodRow(label, editor, params, False, {"s_es": summary}, {}, cases, failed, pending, None, None, None, (),
                     variant=variant)  # fmt: skip


def found(*rows: MethodRow) -> list[Any]:
    metric: Any = SimpleNamespace(name="s_es", title="S-ES")
    return seed_tables(Comparison("all", 6, rows, {}), [metric])


def test_mean_deviation_and_range_over_seeds() -> None:
    (one,) = found(row("b", 0.7, seed=1, rank=8), row("a", 0.5, seed=0, rank=8), row("c", 0.6, seed=2, rank=8))
    assert one.title == "a, b, c" and one.head[1:4] == ("seed 0", "seed 1", "seed 2")
    ((title, *values),) = one.rows
    assert title == "S-ES"
    assert [v.mean for v in values] == pytest.approx([0.5, 0.7, 0.6, 0.6, stdev([0.5, 0.7, 0.6]), 0.2])
    assert {v.missing for v in values} == {""} and {v.low for v in values} == {None}


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


def test_other_cases_and_missing_values_have_no_line() -> None:
    first = row("a", 0.5, seed=0)
    for other in (row("b", 0.7, seed=1, cases=5), row("b", None, seed=1)):
        (one,) = found(first, other)
        assert one.rows == ()
    assert found(first) == []
