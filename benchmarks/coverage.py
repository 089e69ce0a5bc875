"""How often the 95 % intervals hold the truth, and how often tests find what is not there: docs/coverage.md.

    python -m benchmarks.coverage > docs/coverage.md

Every row is a design (how the data came about) under one method for several numbers of cases, with what it promises.
The same rows are a slow test; a release in which one falls below its promise fails.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from curation.stats.bootstrap import Resampling
from curation.stats.bounded import bounded_interval, clustered_interval, difference_interval
from curation.stats.intervals import mean_interval
from curation.stats.paired import SKEWED, sign_flip, skewness, studentised
from curation.stats.prediction_powered import Unit, calibrate

SIZES = (6, 12, 20, 40)
RUNS = 400
_TESTING = Resampling(300)
_LIKERT = {
    "middling": [5, 10, 20, 30, 20, 10, 5],
    "80 % sevens": [2, 1, 1, 2, 4, 10, 80],
    "94 % sevens": [1, 0, 0, 1, 1, 3, 94],
}
Rng = np.random.Generator
Array = npt.NDArray[np.float64]
Ends = tuple[float | None, float | None]


class Row(NamedTuple):
    """A design under a method.

    Attributes:
        design: How the data came about. ``method``: what is judged.
        once: One run with n cases: 1 where the interval holds the truth (or the test rejects), else 0.
        promise: Coverage that is promised from the first size on, or the most rejections; None: no promise is made.
        test: Whether it is a test, whose rejections are counted.
    """

    design: str
    method: str
    once: Callable[[Rng, int], bool]
    promise: float | None
    test: bool = False


def covers(ends: Ends, truth: float) -> bool:
    """Whether an interval holds the truth; no interval holds nothing."""
    low, high = ends
    return low is not None and high is not None and low - 1e-9 <= truth <= high + 1e-9


def rates(share: float, each: int, icc: float) -> Callable[[Rng, int], Array]:
    """Case means of ``each`` prompts that hit with a chance of their case's own."""

    def drawn(rng: Rng, n: int) -> Array:
        mass = 1 / icc - 1 if icc else 1e9
        return np.asarray(rng.binomial(each, rng.beta(share * mass, (1 - share) * mass, n)) / each)

    return drawn


def _interval_rows() -> list[Row]:
    out = []
    for share, each, icc in ((0.5, 1, 0.0), (0.9, 1, 0.0), (0.95, 5, 0.3), (0.05, 5, 0.7)):
        draw = rates(share, each, icc)
        design = f"rate {share}, {each} prompt{'s' if each > 1 else ''} a case" + (f", ICC {icc}" if icc else "")
        out.append(
            Row(
                design,
                "default",
                lambda g, n, d=draw, t=share: covers(bounded_interval(d(g, n).tolist())[3] or (None, None), t),
                0.93,
            )
        )  # type: ignore[misc]
    draw = rates(0.9, 1, 0.0)
    out.append(Row("rate 0.9, 1 prompt a case", "published", lambda g, n: _published(draw(g, n), 0.9), None))
    for name, weights in _LIKERT.items():
        chance = np.array(weights) / sum(weights)
        truth = float(chance @ np.arange(1, 8))
        promise = 0.88 if "94" in name else 0.91
        out.append(
            Row(
                f"ratings 1 to 7, {name}",
                "default",
                lambda g, n, c=chance, t=truth: covers(
                    bounded_interval((1.0 + g.choice(7, n, p=c)).tolist(), (1.0, 7.0)).ends or (None, None), t
                ),
                promise,
            )
        )  # type: ignore[misc]
    out.append(Row("skewed values without a scale (log-normal)", "Student's t", _lognormal, None))
    out.append(Row("rates 0.9 and 0.8 on the same cases", "difference, default", _difference, 0.92))
    out.append(
        Row("neighbours recur and bring most variance", "two-way, default", lambda g, n: _crossed(g, n, True), 0.92)
    )
    out.append(
        Row("neighbours recur and bring most variance", "by case only", lambda g, n: _crossed(g, n, False), None)
    )
    out.append(
        Row(
            "judge and people, half of the cases rated",
            "calibrated, or refused",
            lambda g, n: _calibrated(g, n, False),
            0.9,
        )
    )
    out.append(Row("the same, 94 % sevens", "calibrated, or refused", lambda g, n: _calibrated(g, n, True), 0.9))
    return out


def _published(values: Array, truth: float) -> bool:
    found = mean_interval(values.tolist())
    return covers((found.low, found.high), truth)


def _lognormal(rng: Rng, n: int) -> bool:
    found = bounded_interval(rng.lognormal(0, 1, n).tolist(), None)
    return covers((found.low, found.high), float(np.exp(0.5)))


def _difference(rng: Rng, n: int) -> bool:
    shared, own = rng.normal(size=(n, 1)), rng.normal(size=(2, n, 5))
    from scipy import stats  # type: ignore[import-untyped]

    hits = [
        ((0.6**0.5 * shared + 0.4**0.5 * own[k]) < stats.norm.ppf(p)).mean(axis=1) for k, p in enumerate((0.9, 0.8))
    ]
    first, second = ({str(k): float(v) for k, v in enumerate(side)} for side in hits)
    found = difference_interval(first, second)
    return covers((found.low, found.high), 0.1)


def _crossed(rng: Rng, n: int, both: bool) -> bool:
    """Each case has four of as many neighbours as there are cases; the neighbour decides 80 % of the variance."""
    near = np.concatenate([rng.choice(n, 4, replace=False) for _ in range(n)])
    effect = 0.8**0.5 * rng.normal(size=n)[near] + 0.2**0.5 * rng.normal(size=4 * n)
    values = (effect < 0.8416).astype(float).tolist()
    cases, names = [str(k // 4) for k in range(4 * n)], [str(k) for k in near]
    found = clustered_interval(values, cases, names if both else ())
    return covers((found.low, found.high), 0.8)


def _calibrated(rng: Rng, n: int, ceiling: bool) -> bool:
    chance = np.array(_LIKERT["94 % sevens" if ceiling else "middling"]) / 100
    human = 1.0 + rng.choice(7, 2 * n, p=chance)
    judge = np.clip(human + rng.choice([-1, 0, 1], 2 * n, p=[0.1, 0.6, 0.3]), 1, 7)
    rated = set(rng.permutation(2 * n)[:n].tolist())
    units = [Unit(str(k), float(judge[k]), float(human[k]) if k in rated else None, 0.5) for k in range(2 * n)]
    found = calibrate(units).powered
    refused = found.low is None
    return refused or covers((found.low, found.high), float(chance @ np.arange(1, 8)))


def _test_rows() -> list[Row]:
    def flips(gaps: Array) -> bool:
        p = sign_flip(gaps, _TESTING)
        return p is not None and p <= 0.05

    def decides(gaps: Array) -> bool:
        skew = skewness(gaps)
        other = studentised(gaps, _TESTING) if skew is not None and abs(skew) > SKEWED else None
        return flips(gaps) and (other is None or other <= 0.05)

    def ties(rng: Rng, n: int) -> Array:
        return rng.choice([-1.0, 0.0, 1.0], n, p=[0.15, 0.7, 0.15])

    def rare(rng: Rng, n: int) -> Array:
        return np.where(rng.random(n) < 0.05, -0.95, 0.05)

    return [
        Row("no difference, symmetric", "sign-flip", lambda g, n: flips(g.normal(size=n)), 0.08, True),
        Row("no difference, many ties", "sign-flip", lambda g, n: flips(ties(g, n)), 0.08, True),
        Row("mean 0, skewed (exponential)", "sign-flip", lambda g, n: flips(g.exponential(size=n) - 1), None, True),
        Row("mean 0, skewed (exponential)", "as decided", lambda g, n: decides(g.exponential(size=n) - 1), 0.1, True),
        Row("mean 0, rare large losses (5 %)", "as decided", lambda g, n: decides(rare(g, n)), None, True),
    ]


def rows() -> list[Row]:
    """All rows of the table."""
    return [*_interval_rows(), *_test_rows()]


def shares(row: Row, *, runs: int = RUNS, sizes: tuple[int, ...] = SIZES) -> list[float]:
    """Coverage, or the share of rejections, for each number of cases."""
    out = []
    for n in sizes:
        rng = np.random.default_rng([n, 15])
        out.append(sum(row.once(rng, n) for _ in range(runs)) / runs)
    return out


def kept(row: Row, rates: list[float], *, runs: int = RUNS) -> bool:
    """Whether a row keeps its promise, three standard errors of the simulation allowed."""
    if row.promise is None:
        return True
    slack = 3 * (row.promise * (1 - row.promise) / runs) ** 0.5
    return max(rates) <= row.promise + slack if row.test else min(rates) >= row.promise - slack


def page(runs: int = RUNS) -> str:
    """The page of the docs."""
    head = " | ".join(f"n = {n}" for n in SIZES)
    lines = [
        "# Coverage",
        "",
        f"Simulated ({runs} runs a cell); made by `python -m benchmarks.coverage > docs/coverage.md`. A test",
        "fails when a row falls below its promise. *n*: cases (for calibrated figures: rated cases, of twice as many).",
        "",
        "## Share of 95 % intervals that hold the truth",
        "",
        f"| design | interval | {head} | promised |",
        "| --- | --- |" + " ---: |" * (len(SIZES) + 1),
    ]
    for test in (False, True):
        if test:
            lines += [
                "",
                "## Share of tests that reject at 0.05 although the mean difference is 0",
                "",
                f"| design | test | {head} | at most |",
                "| --- | --- |" + " ---: |" * (len(SIZES) + 1),
            ]
        for row in (r for r in rows() if r.test == test):
            cells = " | ".join(f"{100 * v:.0f} %" for v in shares(row, runs=runs))
            promise = "none" if row.promise is None else f"{100 * row.promise:.0f} %"
            lines.append(f"| {row.design} | {row.method} | {cells} | {promise} |")
    return "\n".join([*lines, "", *_READING, ""])


_READING = (
    "**Read it so.** A row without a promise is there as a warning. The published interval (1.96·sd/√n), and intervals",
    "by case only where neighbours recur, are never the default. Where large losses are rare and none was seen, no",
    "test of these cases can know of them: look at the interval, which allows for them on a scale, and the skewness.",
    "Calibrated figures are refused where simulation supports no interval: near the ceiling with fewer than five rated",
    "cases that differ, and where unequal sampling leaves the rated scripts worth fewer than ten. A refusal counts as",
    "kept.",
)


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    print(page(parser.parse_args().runs), end="")


if __name__ == "__main__":
    main()
