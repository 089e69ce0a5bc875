"""The notes of the printed figures follow from arithmetic; every published EM is a whole number of probes."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.published_arithmetic import (
    PrintedInterval,
    half_width,
    numbers_of_probes,
    probes_note,
    recompute,
    recompute_table_2,
    share_notes,
    table_2,
)
from curation.stats.intervals import mean_interval
from evaluation.reproduction.published import CASES, PrintedFigure, printed_figures, published_table

TABLES = ("mulfe-table2", "mulfe-table3", "mulfe-table7")
EARLIER = {
    ("GPT-J", "before"),
    ("GPT-J", "in context"),
    ("GPT-J", "FT full"),
    ("GPT-J", "LoRA"),
    ("GPT2-XL", "before"),
    ("GPT2-XL", "in context"),
    ("GPT2-XL", "MEND"),
    ("GPT-Neo", "before"),
    ("GPT-Neo", "in context"),
    ("GPT-J", "MEND + Stanford"),
    ("GPT-J", "MEND + DOCoR"),
    ("GPT-J", "MEND + E2EQG"),
}


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


def rows() -> dict[tuple[str, str], dict[str, float]]:
    """EM by model and method, rows that stand in two tables once."""
    out: dict[tuple[str, str], dict[str, float]] = {}
    for name in TABLES:
        for figure in printed_figures(published_table(name)):
            method = {"SIDE, all": "SIDE"}.get(figure.method, figure.method.removesuffix(" + NERQG"))
            row = out.setdefault((figure.model, method), {})
            assert row.get(figure.metric, figure.value) == figure.value, "the same row in two tables"
            row[figure.metric] = figure.value
    return out


def test_rows_are_of_2300_or_of_2301_probes_and_of_no_other_number() -> None:
    fitting = {
        key: numbers_of_probes([row["em_1"], row["em_2"], row["em_3"]], row["em"]) for key, row in rows().items()
    }
    assert Counter(fitting.values()) == {(2300,): 28, (2301,): 12}
    assert {key for key, number in fitting.items() if number == (2301,)} == EARLIER


def test_another_last_digit_is_of_no_whole_number() -> None:
    row = rows()["GPT-J", "SIDE"]
    assert probes_note(row) == ""
    assert probes_note({**row, "em": row["em"] + 0.02}) == "no whole number of probes"
    assert probes_note(rows()["GPT-J", "before"]) == "of 2,301 probes, not 2,300"


def by_row(name: str) -> dict[tuple[str, str], list[PrintedFigure]]:
    """The figures of a table by model and method."""
    out: dict[tuple[str, str], list[PrintedFigure]] = {}
    for figure in printed_figures(published_table(name)):
        out.setdefault((figure.model, figure.method), []).append(figure)
    return out


@pytest.mark.parametrize("name", TABLES)
def test_notes_on_exact_matches_are_recomputed(name):
    for figures in by_row(name).values():
        note = probes_note({figure.metric: figure.value for figure in figures})
        assert {f.note for f in figures if f.metric in ("em", "em_3")} == {note}
        assert not any(f.note for f in figures if f.metric not in ("em", "em_3"))


@pytest.mark.parametrize("name", ["elken-table2", "elken-table3"])
def test_notes_on_shares_of_events_are_recomputed(name):
    for figures in by_row(name).values():
        notes = share_notes({figure.metric: figure.value for figure in figures}, overall=name == "elken-table3")
        assert {f.metric: f.note for f in figures if f.note} == notes


def test_notes_on_intervals_are_recomputed():
    notes = {f"impossible interval, should be {r.half:.2f}" for r in recompute_table_2() if r.verdict == "impossible"}
    assert notes == {f.note for f in printed_figures(published_table("scedit-table2")) if f.note}
