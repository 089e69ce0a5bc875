"""Cells of the coverage page: counted right, refused intervals apart."""

from __future__ import annotations

import pytest

from benchmarks.coverage.rows import Cell, Row, cell, covers, keeps_promise


def test_no_interval_is_neither_right_nor_wrong() -> None:
    assert covers((None, None), 0.5) is None and covers((0.5, 1.0), 0.5) is True and covers((0.6, 1.0), 0.5) is False


def test_a_cell_counts_runs_given_and_held() -> None:
    outcomes = iter([True, None, False, True])
    row = cell(Row("means", "d", "m", lambda rng, n: next(outcomes), 0.93), 12, runs=4)
    assert row == Cell(12, 2, 3, 4) and row.share == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(6, 93, 100, 100), "93"),
        (Cell(6, 48, 50, 100), "96 (50)"),
        (Cell(6, 10, 10, 100), "- (10)"),
        (Cell(6, 0, 0, 100), "- (0)"),
    ],
)
def test_text(cell: Cell, text: str) -> None:
    assert cell.text == text


def test_three_standard_errors_are_allowed() -> None:
    row = Row("means", "d", "m", lambda rng, n: True, 0.93)
    assert (
        keeps_promise(row, Cell(12, 896, 1000, 1000)) is False and keeps_promise(row, Cell(12, 910, 1000, 1000)) is True
    )
    assert keeps_promise(row, Cell(12, 8, 10, 1000)), "ten intervals say nothing"
