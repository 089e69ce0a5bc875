"""What a report says in words: who leads, and in which order the cases were used."""

from __future__ import annotations

import pytest

from evaluation.report.write import write_report
from tests.evaluation.report.test_write import finished, read
from tests.support.arithmetic import make_cases
from tests.support.report.two_runs import TWO


def test_the_summary_says_what_holm_says(tmp_path):
    out = finished(tmp_path, editors=TWO, split=make_cases(40, 0))
    _, reader = read(write_report([out]).files[0])
    text = " ".join("".join(reader.text).split())
    assert "Best S-ES: push" in text and "after Holm" in text


@pytest.mark.parametrize(
    ("order", "caveat", "set_up"),
    [
        ("drawn", "used, in an order drawn from the split's digest.", "Cases in an order drawn from"),
        ("scripts_first", "used, in this order: cases with scripts before", "Cases in this order: cases with scripts"),
    ],
)
def test_the_order_of_the_cases_is_the_run_s_own(tmp_path, order, caveat, set_up):
    regime = {"name": "sequential", "size": [1, 2], "order": order}
    out = finished(tmp_path, editors=TWO, split=make_cases(4, 0), regime=regime, limit=2)
    _, reader = read(write_report([out]).files[0])
    text = " ".join("".join(reader.text).split())
    assert f"2 of the split's 4 cases were {caveat}" in text and set_up in text
