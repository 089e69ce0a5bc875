"""Rows of means, gains and differences: rates, ratings, prompts of a case, neighbours that recur."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.coverage.rows import LIKERT, Array, Outcome, Rng, Row, covers
from curation.stats.bounded import (
    PairedItem,
    Scale,
    bounded_interval,
    case_mean_estimate,
    clustered_interval,
    difference_interval,
)
from curation.stats.intervals import mean_interval

Draw = Callable[[Rng, int], Array]
_TOO_NARROW = (
    "1.96·sd/√n takes the spread seen for the true one, and is no interval at all where all cases agree; only "
    "`report --intervals published` prints it, marked by ±"
)
_ONE_WAY = "what a neighbour brings counts in every case that it serves in, as if each were another; no table has it"


def rates(share: float, each: int, icc: float) -> Draw:
    """Case means of ``each`` prompts that hit with a chance of their case's own."""

    def drawn(rng: Rng, n: int) -> Array:
        mass = 1 / icc - 1 if icc else 1e9
        return np.asarray(rng.binomial(each, rng.beta(share * mass, (1 - share) * mass, n)) / each)

    return drawn


def ratings(name: str) -> tuple[Draw, float]:
    """Draws of a case's rating from 1 to 7, and the true mean."""
    chance = np.array(LIKERT[name]) / sum(LIKERT[name])
    return lambda rng, n: 1.0 + rng.choice(7, n, p=chance), float(chance @ np.arange(1, 8))


def linked(rng: Rng, n: int, first: float, second: float) -> tuple[dict[str, float], dict[str, float]]:
    """Two methods on the same cases of five prompts: rates by case, 60 % of what decides shared by the case."""
    from scipy import stats  # type: ignore[import-untyped]

    shared, noise = rng.normal(size=(n, 1)), rng.normal(size=(2, n, 5))
    sides = [
        ((0.6**0.5 * shared + 0.4**0.5 * noise[k]) < stats.norm.ppf(share)).mean(axis=1)
        for k, share in enumerate((first, second))
    ]
    one, two = ({str(k): float(v) for k, v in enumerate(side)} for side in sides)
    return one, two


def crossed_items(rng: Rng, n: int, share: float = 0.8) -> list[PairedItem]:
    """Two methods on n cases of four neighbours each, drawn from n; the neighbour decides 80 % of the variance.

    Both methods hit with the same chance.
    """
    from scipy import stats

    near = np.concatenate([rng.choice(n, 4, replace=False) for _ in range(n)])
    effect = 0.8**0.5 * rng.normal(size=n)[near]
    sides = [(effect + 0.2**0.5 * rng.normal(size=4 * n) < stats.norm.ppf(share)).astype(float) for _ in "ab"]
    return [PairedItem(str(k // 4), str(near[k]), float(sides[0][k]), float(sides[1][k])) for k in range(4 * n)]


def by_case(items: list[PairedItem]) -> tuple[dict[str, float], dict[str, float]]:
    """Case means of both sides."""
    homes: dict[str, list[PairedItem]] = {}
    for item in items:
        homes.setdefault(item.case, []).append(item)
    return (
        {case: float(np.mean([i.first for i in some])) for case, some in homes.items()},
        {case: float(np.mean([i.second for i in some])) for case, some in homes.items()},
    )


def _mean_row(design: str, draw: Draw, truth: float, scale: Scale, promise: float) -> Row:
    def once(rng: Rng, n: int) -> Outcome:
        interval = bounded_interval(draw(rng, n).tolist(), scale)
        return covers((interval.low, interval.high), truth)

    return Row("means", design, "default", once, promise)


def _published_row(share: float) -> Row:
    def once(rng: Rng, n: int) -> Outcome:
        interval = mean_interval(rates(share, 1, 0.0)(rng, n).tolist())
        mean, half = interval.mean or 0.0, interval.half or 0.0  # of no width where all agree, as published
        return covers((mean - half, mean + half), share)

    return Row("means", f"rate {share}, 1 prompt a case", "published", once, None, why=_TOO_NARROW)


def rare_losses(rng: Rng, n: int) -> Array:
    """2 % of the cases lose everything, the others hardly vary."""
    return np.where(rng.random(n) < 0.02, 0.0, 1 - 0.02 * rng.random(n))


def _lognormal(rng: Rng, n: int) -> Outcome:
    interval = bounded_interval(rng.lognormal(0, 1, n).tolist(), None)
    return covers((interval.low, interval.high), float(np.exp(0.5)))


def _exponential(rng: Rng, n: int) -> Outcome:
    interval = bounded_interval(rng.exponential(size=n).tolist(), None)
    return covers((interval.low, interval.high), 1.0)


def _severity(rng: Rng, n: int) -> Outcome:
    """A judge who is half a point too kind on ratings of two scripts a case."""
    people = ratings("middling")[0](rng, 2 * n)
    judge = people + rng.choice([-1, 0, 1, 2], 2 * n, p=[0.15, 0.3, 0.45, 0.1])
    estimate = case_mean_estimate("severity", (judge - people).tolist(), [str(k // 2) for k in range(2 * n)])
    return covers((estimate.low, estimate.high), 0.5)


def _difference(rng: Rng, n: int) -> Outcome:
    interval = difference_interval(*linked(rng, n, 0.9, 0.8))
    return covers((interval.low, interval.high), 0.1)


def _neighbours(both: bool) -> Callable[[Rng, int], Outcome]:
    def once(rng: Rng, n: int) -> Outcome:
        items = crossed_items(rng, n)
        near = [i.neighbour for i in items] if both else ()
        interval = clustered_interval([i.first for i in items], [i.case for i in items], near)
        return covers((interval.low, interval.high), 0.8)

    return once


def _crossed_difference(rng: Rng, n: int) -> Outcome:
    items = crossed_items(rng, n)
    interval = difference_interval(*by_case(items), items=items)
    return covers((interval.low, interval.high), 0.0)


def mean_rows() -> list[Row]:
    """Rates, ratings, differences, and what is no default."""
    out = []
    for share, each, icc in ((0.5, 1, 0.0), (0.9, 1, 0.0), (0.97, 1, 0.0), (0.95, 5, 0.3), (0.05, 5, 0.7)):
        design = f"rate {share}, {each} prompt{'s' if each > 1 else ''} a case" + (f", ICC {icc}" if icc else "")
        out.append(_mean_row(design, rates(share, each, icc), share, (0.0, 1.0), 0.93))
    for name in LIKERT:
        out.append(_mean_row(f"ratings 1 to 7, {name}", *ratings(name), (1.0, 7.0), 0.93))
    out.append(_mean_row("shares, 2 % of the cases lose everything", rare_losses, 0.98 * 0.99, (0.0, 1.0), 0.93))
    recur = "neighbours recur and bring most variance"
    return [
        *out,
        Row("means", "rates 0.9 and 0.8 on the same cases", "difference, default", _difference, 0.93),
        Row("means", recur, "two-way, default", _neighbours(True), 0.93),
        Row("means", recur, "difference, two-way", _crossed_difference, 0.93),
        Row("means", "judge less people, two scripts a case", "Student's t", _severity, 0.93),
        Row("means", recur, "by case only", _neighbours(False), None, why=_ONE_WAY),
        _published_row(0.9),
        _published_row(0.97),
        Row("means", "skewed values without a scale (exponential)", "Student's t", _exponential, 0.93),
        Row("means", "strongly skewed values without a scale (log-normal)", "Student's t", _lognormal, 0.93),
    ]
