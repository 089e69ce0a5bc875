"""The page benchmarks/results/coverage.md, made from the rows, and the check that every row keeps its promise."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.coverage.agreement_designs import agreement_rows
from benchmarks.coverage.calibration_designs import calibration_rows
from benchmarks.coverage.figure_designs import figure_rows
from benchmarks.coverage.mean_designs import mean_rows
from benchmarks.coverage.null_designs import null_rows
from benchmarks.coverage.rows import PROMISED_FROM, SEED, SIZES, Cell, Part, Row, cell, keeps_promise
from schemas.core.ids import digest

RUNS = 300
_ROOT = Path(__file__).parents[2]
_SIMULATED = (
    *("benchmarks/coverage/*.py", "curation/stats/*.py", "evaluation/analysis/pairwise_tests.py"),
    *("evaluation/analysis/correlations.py", "evaluation/metrics/pooled.py"),
)
_HEADS: dict[Part, tuple[str, str, str]] = {
    "means": ("Means, gains and differences: share of 95 % intervals that hold the truth", "interval", "promised"),
    "agreement": ("Agreement and correlation: the same", "statistic", "promised"),
    "calibration": ("A judge calibrated to people: the same; n is the number of rated scripts", "figure", "promised"),
    "tests": ("Share of tests that reject at 0.05 although the null holds", "test", "at most"),
}
_INTRODUCTION = f"""# Coverage

Simulated, RUNS runs a cell, by `python -m benchmarks.coverage --write` (MADE_BY).
`python -m benchmarks.coverage --check` (and the slow tests) simulate every row again and fail where one falls below
its promise by more than three standard errors of the simulation. n: cases. Promises hold from {PROMISED_FROM} cases on.
A row without one is a warning: no table prints such a figure, or the table says so (*printed so*). All figures are
percentages. *96 (70)*: in 30 of 100 runs the interval was refused, as tables say then; of the others 96 held the truth.
"""
_READING = """
**Read it so.** The published interval (1.96·sd/√n), intervals by case only where neighbours recur, percentile
bootstraps of alpha, and the sign-flip test alone are warnings; none is a default. A difference is decided only where
its interval excludes 0 too. On a scale that allows for rare large losses that were not drawn; without a scale
(entropy, words) no test sees them, and every such decision says so.
Near a ceiling and with few rated scripts, figures are refused: calibrated means where fewer than five rated cases
differ or the sample is worth fewer than ten scripts, rank correlations where fewer than three cases differ from the
commonest value of a side, a judge's ceiling where 70 % of the ratings are equal.
"""


def made_by() -> str:
    """What a page is made with: the seed, and the digest of the code that is simulated and simulates."""
    files = sorted(path for pattern in _SIMULATED for path in _ROOT.glob(pattern))
    code = digest(f"{path.relative_to(_ROOT).as_posix()}\n{path.read_text(encoding='utf-8')}" for path in files)
    return f"seed {SEED}, code {code[:12]}, numpy {np.__version__}"


def all_rows() -> list[Row]:
    """Every row of the page."""
    return [*mean_rows(), *agreement_rows(), *calibration_rows(), *null_rows(), *figure_rows()]


def _row_cells(named: tuple[str, str], *, runs: int, sizes: Sequence[int]) -> list[Cell]:
    (row,) = [row for row in all_rows() if (row.design, row.method) == named]
    return [cell(row, n, runs=runs) for n in sizes]


def simulated(rows: Sequence[Row], *, runs: int, sizes: Sequence[int] = SIZES, jobs: int = 1) -> list[list[Cell]]:
    """The cells of every row; of ``all_rows`` in several processes, with the same draws as in one."""
    if jobs == 1:
        return [[cell(row, n, runs=runs) for n in sizes] for row in rows]
    work = partial(_row_cells, runs=runs, sizes=tuple(sizes))
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        return pool.map(work, [(row.design, row.method) for row in rows], chunksize=1)


def page(rows: Sequence[Row], *, runs: int = RUNS, sizes: Sequence[int] = SIZES, jobs: int = 1) -> str:
    """The page of the docs."""
    of_row = dict(zip((row.name for row in rows), simulated(rows, runs=runs, sizes=sizes, jobs=jobs), strict=True))
    lines = [_INTRODUCTION.replace("RUNS", str(runs)).replace("MADE_BY", made_by()).rstrip()]
    for part, (title, what, promise) in _HEADS.items():
        some = [row for row in rows if row.part == part]
        if some:
            head = " | ".join(f"n = {n}" for n in sizes)
            lines += ["", f"## {title}", "", f"| design | {what} | {head} | {promise} |"]
            lines.append("| --- | --- |" + " ---: |" * (len(sizes) + 1))
            lines += [_line(row, of_row[row.name]) for row in some]
            unpromised = [row for row in some if row.promise is None]
            lines += ["", "Rows without a promise:", ""] if unpromised else []
            lines += [f"- {row.name}: {row.why}." for row in unpromised]
    return "\n".join([*lines, _READING])


def _line(row: Row, cells: Iterable[Cell]) -> str:
    texts = " | ".join(one.text for one in cells)
    return f"| {row.design} | {row.method} | {texts} | {promise_text(row)} |"


def promise_text(row: Row) -> str:
    """A promise as the page prints it."""
    if row.promise is None:
        return "none, printed so" if row.printed else "none"
    return f"{100 * row.promise:.0f}"


def broken_promises(rows: Sequence[Row], *, runs: int = RUNS, sizes: Sequence[int] = SIZES) -> list[str]:
    """What rows do not keep now, one sentence each; empty where all do."""
    out = []
    for row in rows:
        for n in sizes if row.promise is not None else ():
            simulated = cell(row, n, runs=runs)
            if not keeps_promise(row, simulated):
                verb = "rejects" if row.part == "tests" else "holds the truth"
                share = f"{100 * simulated.share:.0f} % of {simulated.given} runs"
                out.append(f"{row.name} {verb} in {share} at n = {n}; promised: {promise_text(row)} %")
    return out


def printed_shares(text: str, row: Row) -> list[float | None]:
    """The percentages that a page prints for a row, one a size; None where too few intervals were given.

    Raises:
        ValueError: the page has no such row, or prints another promise.
    """
    for line in text.splitlines():
        cells = [part.strip() for part in line.strip("| ").split(" | ")]
        if cells[:2] == [row.design, row.method]:
            if cells[-1] != promise_text(row):
                raise ValueError(f"{row.name}: the page promises {cells[-1]}, the program {promise_text(row)}")
            matches = [re.match(r"\d+", text) for text in cells[2:-1]]
            return [None if one is None else int(one.group()) / 100 for one in matches]
    raise ValueError(f"{row.name} is not on the page")
