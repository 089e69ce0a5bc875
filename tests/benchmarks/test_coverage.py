"""The table of docs/coverage.md: rows keep their promises (slow), and a row that does not is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.coverage import Row, covers, kept, page, rows, shares

ROWS = {f"{r.design}: {r.method}": r for r in rows()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, r in ROWS.items() if r.promise is not None])
def test_a_row_keeps_its_promise(name: str) -> None:
    found = shares(ROWS[name], runs=200)
    assert kept(ROWS[name], found, runs=200), (name, found)


def test_a_row_below_its_promise_is_seen() -> None:
    never, always = (Row("d", "m", lambda _, __, v=v: v, 0.93) for v in (False, True))  # type: ignore[misc]
    assert not kept(never, shares(never, runs=20)) and kept(always, shares(always, runs=20))
    test = always._replace(promise=0.08, test=True)
    assert not kept(test, shares(test, runs=20)) and kept(never._replace(promise=0.08, test=True), [0.0])
    assert kept(never._replace(promise=None), [0.0])


def test_no_interval_holds_nothing() -> None:
    assert not covers((None, None), 0.5) and covers((0.5, 1.0), 0.5) and not covers((0.6, 1.0), 0.5)


def test_the_published_interval_covers_too_seldom_for_few_cases() -> None:
    (old,) = shares(ROWS["rate 0.9, 1 prompt a case: published"], runs=150, sizes=(6,))
    (new,) = shares(ROWS["rate 0.9, 1 prompt a case: default"], runs=150, sizes=(6,))
    assert old < 0.65 and new > 0.93


def test_the_page_has_every_row() -> None:
    """Of the docs, too: it is made by the same command."""
    stored = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text(encoding="utf-8")
    made = page(runs=2)
    for row in rows():
        assert f"| {row.design} | {row.method} |" in made and f"| {row.design} | {row.method} |" in stored
