"""Rows by group: means of case means, pooled means, differences paired by case; what is None is not counted."""

from __future__ import annotations

import pytest

from evaluation.analysis.tables import Rate, rate_table, rates

VALUES = [
    {"method": m, "case": f"c{n}", "new": float(n < hits), "old": None if n else 1.0}
    for m, hits in (("ft", 6), ("rome", 3))
    for n in range(6)
]
COLUMNS = (Rate("New", "new"), Rate("Old", "old"), Rate("New to old", "new", less="old"))


def test_a_row_a_group_in_the_order_of_appearance() -> None:
    table = rate_table("Names", VALUES, ["method"], "Texts", COLUMNS)
    assert table.head == ("Method", "Texts", "New", "Old", "Δ New to old")
    ft, rome = table.rows
    assert ft[:2] == ("ft", 6) and rome[0] == "rome"
    assert [v.mean for v in rome[2:]] == [0.5, 1.0, 0.0] and [v.n for v in rome[2:]] == [6, 1, 1]
    assert rates([], ["method"], COLUMNS) == ()


def test_pooled_means_weigh_a_case_by_its_values_and_means_of_cases_do_not() -> None:
    values = [{"kind": "a", "case": case, "hit": hit} for case, hit in (("x", 1.0), ("y", 0.0), ("y", 0.0), ("y", 0.0))]
    ((_, _, by_case),) = rates(values, ["kind"], [Rate("Hit", "hit")])
    ((_, _, pooled),) = rates(values, ["kind"], [Rate("Hit", "hit")], pooled=True)
    assert (by_case.mean, pooled.mean) == (0.5, 0.25)


def test_values_without_a_scale_keep_their_unit() -> None:
    ((_, _, words),) = rates([{"kind": "a", "case": "x", "words": 12}], ["kind"], [Rate("Words", "words", scale=None)])
    assert (words.mean, words.unit) == (12.0, "points") and words.low is None


def test_neighbours_that_recur_are_a_second_cluster() -> None:
    values = [{"m": "a", "case": f"c{n % 6}", "neighbour": f"n{n % 4}", "hit": n % 3 == 0} for n in range(24)]
    ((_, count, hit),) = rates(values, ["m"], [Rate("Hit", "hit")])
    assert count == 24 and hit.mean == pytest.approx(1 / 3) and "neighbour" in hit.kind
