"""The table of benchmarks/results/coverage.md: rows keep their promises (slow), and a row that does not is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchmarks.coverage.__main__ as command
import curation.stats.bounded as bounded
from benchmarks.coverage.__main__ import main
from benchmarks.coverage.page import RUNS, all_rows, broken_promises, made_by, page, printed_shares
from benchmarks.coverage.rows import PROMISED_FROM, SIZES, Cell, Row, keeps_promise
from curation.stats.intervals import STUDENT
from evaluation.analysis.pairwise_tests import NO_SCALE

ROWS = {row.name: row for row in all_rows()}
PROMISED = [name for name, row in ROWS.items() if row.promise is not None]
STORED = Path(__file__).parents[3] / "benchmarks" / "results" / "coverage.md"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROMISED)
def test_a_row_keeps_its_promise(name: str) -> None:
    assert broken_promises([ROWS[name]], runs=120, sizes=(6, 12, 40)) == []


@pytest.mark.parametrize("name", ROWS)
def test_what_the_page_prints_keeps_the_promise_too(name: str) -> None:
    """The figures of the docs themselves, as the page prints them; and every row is there."""
    row = ROWS[name]
    for n, share in zip(SIZES, printed_shares(STORED.read_text(encoding="utf-8"), row), strict=True):
        if share is not None:
            cell = Cell(n, round(share * RUNS), RUNS, RUNS)
            assert keeps_promise(row, cell) or n < PROMISED_FROM, (name, n, share)


def test_what_is_printed_as_95_percent_is_promised_to_93_or_says_what_it_is() -> None:
    for row in ROWS.values():
        if row.part != "tests":
            assert row.promise is None or row.promise >= 0.93, row.name
    assert {row.printed for row in ROWS.values()} == {"", NO_SCALE}
    skewed = [1.0, 1.1, 1.2, 1.3, 1.2, 40.0]
    assert bounded.bounded_interval(skewed, None).kind == STUDENT
    assert bounded.difference_interval(
        dict(zip("abcdef", skewed, strict=True)), dict.fromkeys("abcdef", 1.0), scale=None
    ).kind == STUDENT  # fmt: skip


def test_a_row_that_promises_nothing_says_why_and_what_stands_in_its_place() -> None:
    text = STORED.read_text(encoding="utf-8")
    for row in ROWS.values():
        assert bool(row.why) == (row.promise is None), row.name
        assert row.promise is not None or f"- {row.name}: {row.why}." in text


def test_the_page_has_no_row_that_the_program_has_not() -> None:
    lines = [line for line in STORED.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    fields = {tuple(line.strip("| ").split(" | ")[:2]) for line in lines if not line.startswith(("| design", "| ---"))}
    assert fields == {(row.design, row.method) for row in ROWS.values()}


def test_the_check_goes_red_when_an_interval_is_made_worse(monkeypatch, capsys) -> None:
    """The default interval a third as wide: --check says which rows, with their figures, and ends with 1."""
    options = ["--check", "--only", "rate 0.9, 1 prompt", "--runs", "150"]
    assert main(options) == 0 and "2 rows keep their promises" in capsys.readouterr().out
    honest = bounded.beta_ends

    def narrow(spread, scale=bounded.SHARE, *, tail=0.025):
        result = honest(spread, scale, tail=tail)
        return result and tuple(spread.mean + (end - spread.mean) / 3 for end in result)

    monkeypatch.setattr(bounded, "beta_ends", narrow)
    assert main(options) == 1
    output = capsys.readouterr().out
    assert "rate 0.9, 1 prompt a case: default holds the truth in" in output and "promised: 93 %" in output


def test_a_test_that_rejects_too_often_breaks_its_promise() -> None:
    always = Row("tests", "no difference", "a test", lambda rng, n: True, 0.06)
    (difference, *_) = broken_promises([always], runs=40, sizes=(6,))
    assert difference == "no difference: a test rejects in 100 % of 40 runs at n = 6; promised: 6 %"
    assert broken_promises([always._replace(promise=None)], runs=40, sizes=(6,)) == []
    assert broken_promises([always], runs=40, sizes=(4,)) == [], "promises hold from five cases on"


def test_a_page_says_what_made_it_and_the_check_says_where_the_code_is_another(tmp_path, monkeypatch, capsys) -> None:
    row = Row("means", "a design", "an interval", lambda rng, n: True, 0.93)
    text = page([row], runs=7, sizes=(6,))
    assert "Simulated, 7 runs a cell" in text and made_by() in text and made_by().startswith("seed 15, code ")
    stored = tmp_path / "coverage.md"
    monkeypatch.setattr(command, "PAGE", stored)
    options = ["--check", "--only", "rate 0.9, 1 prompt a case: default", "--runs", "40"]
    stored.write_text(text, encoding="utf-8")
    assert main(options) == 0 and "other code" not in capsys.readouterr().out
    stored.write_text(text.replace(made_by(), "seed 15, code 000000000000"), encoding="utf-8")
    assert main(options) == 0 and "was made by other code" in capsys.readouterr().out


@pytest.mark.slow
def test_several_processes_make_the_same_page() -> None:
    rows = [row for row in all_rows() if "rate 0.9" in row.name or "sign-flip alone" in row.name]
    assert len(rows) > 2
    assert page(rows, runs=20, sizes=(6, 12), jobs=2) == page(rows, runs=20, sizes=(6, 12))


def test_a_page_names_refusals_and_promises() -> None:
    def every_second(rng, n):
        return True if rng.random() < 0.5 else None

    rows = [Row("means", "a design", "an interval", every_second, 0.93)]
    text = page(rows, runs=200, sizes=(6, 12))
    (line,) = [line for line in text.splitlines() if line.startswith("| a design")]
    assert "| 100 (" in line and line.endswith("| 93 |")
    assert printed_shares(text, rows[0]) == [1.0, 1.0]
    with pytest.raises(ValueError, match="promises 93, the program 90"):
        printed_shares(text, rows[0]._replace(promise=0.9))
    with pytest.raises(ValueError, match="not on the page"):
        printed_shares(text, rows[0]._replace(design="another"))
