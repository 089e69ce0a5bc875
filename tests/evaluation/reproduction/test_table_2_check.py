from collections import Counter

import pytest

from curation.stats.intervals import mean_interval
from evaluation.reproduction.table_2_check import (
    CASES,
    PrintedInterval,
    half_width,
    recompute,
    recompute_table_2,
    table_2,
)


def test_all_es_intervals_follow_from_the_number_of_cases_but_one():
    entries = [r for r in recompute_table_2() if r.printed.metric == "ES"]
    assert Counter(r.verdict for r in entries) == {"agrees": 32, "impossible": 1}
    assert all(abs(r.half - r.printed.half) <= 0.01 for r in entries if r.verdict == "agrees")
    assert all(r.hits is not None for r in entries)  # every printed share is a whole number of cases


def test_the_impossible_one_is_memit_on_llama_3():
    (wrong,) = [r for r in recompute_table_2() if r.verdict == "impossible"]
    assert wrong.printed == PrintedInterval("ScEdit-CF", "ES", "Llama-3", "MEMIT", 98.63, 1.19)
    assert round(wrong.half, 2) == 0.53
    base = next(p for p in table_2() if (p.model, p.method, p.metric) == ("Llama-3", "base", "ES"))
    assert base.half == wrong.printed.half  # the base row's interval, copied


def test_other_metrics_are_within_what_is_possible():
    others = [r for r in recompute_table_2() if r.printed.metric != "ES"]
    assert Counter(r.printed.metric for r in others) == {"S-ES": 33, "S-NS": 19, "S-BO": 14}
    assert {r.verdict for r in others} == {"possible"}


def test_half_width_is_that_of_the_values_themselves():
    values = [1.0] * 1805 + [0.0] * 25
    assert half_width(1805 / 1830, 1830) == pytest.approx(100 * mean_interval(values).half)


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        pytest.param(PrintedInterval("ScEdit-CF", "ES", "m", "x", 98.63, 0.53), "agrees", id="as it should be"),
        pytest.param(PrintedInterval("ScEdit-CF", "ES", "m", "x", 98.63, 0.40), "differs", id="too narrow for 0 and 1"),
        pytest.param(PrintedInterval("ScEdit-CF", "S-ES", "m", "x", 50.0, 2.5), "impossible", id="wider than any"),
        pytest.param(PrintedInterval("ScEdit-T", "S-BO", "m", "x", 0.0, 0.0), "possible", id="zero"),
        pytest.param(PrintedInterval("ScEdit-T", "S-ES", "m", "x", 100.0, 0.0), "possible", id="all"),
    ],
)
def test_verdicts(entry, verdict):
    assert recompute(entry).verdict == verdict


def test_a_share_that_no_number_of_cases_gives():
    assert recompute(PrintedInterval("ScEdit-CF", "ES", "m", "x", 20.52, 1.85)).hits is None  # 375: 20.49, 376: 20.55
    assert CASES == {"ScEdit-CF": 1830, "ScEdit-T": 1762}


def test_entries_are_printed_in_the_paper(shared):
    """Every value and half width of ES occurs in the paper's text, as a guard against slips of the pen."""
    text = next((shared / "papers").glob("000_*.txt")).read_text(encoding="utf-8")
    for entry in table_2():
        assert f"{entry.value:.2f}".removesuffix("0") in text, entry
        assert f"{entry.half:.2f}" in text, entry
