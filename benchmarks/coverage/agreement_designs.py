"""Rows of agreement and rank correlation: raters of scripts, middling ratings and ratings near the ceiling."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from benchmarks.coverage.rows import LIKERT, Outcome, Rng, Row, covers
from curation.stats.agreement import alpha, alpha_of_coincidences, coincidences, exact_agreement, gwet
from curation.stats.bootstrap import Resampling, bootstrap_sums, ends
from curation.stats.correlation import ceiling, kendall, spearman
from curation.stats.estimates import Estimate, sums_by
from curation.stats.rating_table import RatingTable

_PLAN, _NONE = Resampling(300), Resampling(0)
_RATERS, _EACH = 3, 2
_MANY = 30_000  # cases whose coefficient is taken for the true one
_SCALE = tuple(float(k) for k in range(1, 8))
Statistic = Callable[[RatingTable, Resampling], Estimate]


def panel(rng: Rng, cases: int, usage: str) -> RatingTable:
    """Ratings from 1 to 7 by three raters of two scripts a case, whose quality its case shares in part."""
    from scipy import stats  # type: ignore[import-untyped]

    quality = 0.8 * np.repeat(rng.normal(size=cases), _EACH) + 0.6 * rng.normal(size=_EACH * cases)
    heard = quality[:, None] + 0.6 * rng.normal(size=(_EACH * cases, _RATERS))
    chance = np.cumsum(LIKERT[usage])[:-1] / sum(LIKERT[usage])
    codes = np.digitize(heard, (1 + 0.6**2) ** 0.5 * stats.norm.ppf(chance)).astype(float)
    homes = tuple(f"c{k // _EACH}" for k in range(_EACH * cases))
    units = tuple(f"u{k}" for k in range(_EACH * cases))
    return RatingTable(codes, units, tuple("abc"), homes, _SCALE, True)


def _alpha(table: RatingTable, plan: Resampling) -> Estimate:
    return alpha(table, level="ordinal", resampling=plan)


def _quadratic(table: RatingTable, plan: Resampling) -> Estimate:
    return gwet(table, weights="quadratic", resampling=plan)


def _exact(table: RatingTable, plan: Resampling) -> Estimate:
    return exact_agreement(table)


def _ceiling(table: RatingTable, plan: Resampling) -> Estimate:
    return ceiling(table, resampling=plan)


def _rank(coefficient: Callable[..., Estimate]) -> Statistic:
    def between_two(table: RatingTable, plan: Resampling) -> Estimate:
        first, second = (table.values[:, k].tolist() for k in (0, 1))
        return coefficient(first, second, table.cases, resampling=plan)

    return between_two


def _percentile_alpha(table: RatingTable, plan: Resampling) -> Estimate:
    """The interval of earlier versions: percentiles of the resampled cases."""
    groups, domain = table.case_groups, np.array(_SCALE)
    sums = sums_by(groups.of, coincidences(table.counts).reshape(len(table.units), -1), len(groups.names))
    draws = bootstrap_sums(sums, lambda s: alpha_of_coincidences(s, domain, "ordinal"), plan)
    return Estimate("alpha", None, *ends(draws, plan, cases=len(groups.names))[:2])


STATISTICS: dict[str, tuple[Statistic, Statistic]] = {
    "ordinal alpha": (_alpha, _alpha),
    "AC2 (quadratic)": (_quadratic, _quadratic),
    "exact agreement": (_exact, _exact),
    "Spearman's rho": (_rank(spearman), _rank(spearman)),
    "Kendall's tau-b": (_rank(kendall), _rank(kendall)),
    "ceiling of a judge": (_ceiling, _ceiling),
    "ordinal alpha, percentile bootstrap": (_percentile_alpha, _alpha),
}
"""The statistic with its interval, and the one whose value over very many cases is the truth."""

PROMISE = 0.93
_PERCENTILES = (
    "resamples of few cases that agree vary too little; the interval of earlier versions, no table has it any more"
)


@cache
def truth(statistic: str, usage: str) -> float:
    """The value over very many cases."""
    value = STATISTICS[statistic][1](panel(np.random.default_rng(1), _MANY, usage), _NONE).value
    assert value is not None
    return value


def _row(statistic: str, usage: str, promise: float | None, why: str = "") -> Row:
    def once(rng: Rng, n: int) -> Outcome:
        estimate = STATISTICS[statistic][0](panel(rng, n, usage), _PLAN)
        return covers((estimate.low, estimate.high), truth(statistic, usage))

    return Row("agreement", f"three raters, two scripts a case, {usage}", statistic, once, promise, why=why)


def agreement_rows() -> list[Row]:
    """Every statistic at every use of the scale; the percentile interval as a warning."""
    *present, former = STATISTICS
    rows = [_row(name, usage, PROMISE) for name in present for usage in LIKERT]
    return [*rows, *(_row(former, usage, None, _PERCENTILES) for usage in ("middling", "80 % sevens"))]
