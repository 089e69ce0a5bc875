"""Rows of agreement and rank correlation: raters of scripts, middling ratings and ratings near the ceiling."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from benchmarks.coverage.rows import LIKERT, Array, Outcome, Rng, Row, covers
from curation.stats.agreement import alpha, alpha_of_coincidences, coincidences, exact_agreement, gwet
from curation.stats.bootstrap import Resampling, bootstrap_sums, ends
from curation.stats.bradley_terry import PairedComparison, bradley_terry
from curation.stats.correlation import ceiling, kendall, spearman
from curation.stats.estimates import Estimate, sums_by
from curation.stats.rating_table import RatingTable
from curation.stats.severity_means import ScaleRating, severity_report
from schemas.core.errors import UserError

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


METHODS = {"a": 0.0, "b": 0.5, "c": -0.3}
PERSONS = {"p": 0.4, "q": 0.0, "r": -0.4}


def _cuts(usage: str) -> Array:
    """Where a latent quality becomes the next rating."""
    from scipy import stats

    chance = np.cumsum(LIKERT[usage])[:-1] / sum(LIKERT[usage])
    return np.asarray(1.36**0.5 * stats.norm.ppf(chance))


def severe_ratings(rng: Rng, cases: int, usage: str) -> list[ScaleRating]:
    """Ratings from 1 to 7 of three methods, each script by two of three persons of unlike severity."""
    cuts, rows = _cuts(usage), []
    for case, level in enumerate(0.6 * rng.normal(size=cases)):
        for method, effect in METHODS.items():
            quality = level + effect + 0.5 * rng.normal()
            for person in rng.choice(list(PERSONS), 2, replace=False).tolist():
                heard = quality - PERSONS[person] + 0.5 * rng.normal()
                value = 1 + int(np.digitize(heard, cuts))
                rows.append(ScaleRating(f"{case}{method}", f"c{case}", method, person, "a", value))
    return rows


@cache
def true_mean(method: str, usage: str) -> float:
    """The mean rating of a method had every person rated very many scripts."""
    rng = np.random.default_rng(2)
    quality = 0.6 * rng.normal(size=_MANY) + METHODS[method] + 0.5 * rng.normal(size=_MANY)
    heard = [quality - severity + 0.5 * rng.normal(size=_MANY) for severity in PERSONS.values()]
    return float(1 + np.digitize(np.concatenate(heard), _cuts(usage)).mean())


def _severe(usage: str, *, difference: bool) -> Row:
    def once(rng: Rng, n: int) -> Outcome:
        try:
            report = severity_report(severe_ratings(rng, n, usage), {"a": (1.0, 7.0)})
        except UserError:
            return None
        estimate = report.differences[0].difference if difference else report.means["a", "a"]
        truth = true_mean("a", usage) - (true_mean("b", usage) if difference else 0.0)
        return covers((estimate.low, estimate.high), truth)

    what = "difference" if difference else "mean"
    return Row("agreement", f"two of three persons an item, {usage}", f"{what}, corrected for severity", once, PROMISE)


def _strength(rng: Rng, n: int) -> Outcome:
    """Three comparisons of methods a case, a fifth of them ties."""
    rows = []
    for case in range(n):
        for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
            gap = METHODS[first] - METHODS[second]
            odds = np.exp([gap / 2, -gap / 2, -0.7])
            outcome = (1.0, 0.0, 0.5)[int(rng.choice(3, p=odds / odds.sum()))]
            rows.append(PairedComparison(first, second, outcome, f"c{case}"))
    try:
        found = bradley_terry(rows).methods["a"]
    except UserError:
        return None
    return covers((found.low, found.high), METHODS["a"] - sum(METHODS.values()) / len(METHODS))


def agreement_rows() -> list[Row]:
    """Every statistic at every use of the scale; the percentile interval as a warning."""
    *present, former = STATISTICS
    rows = [_row(name, usage, PROMISE) for name in present for usage in LIKERT]
    rows += [_severe(usage, difference=difference) for difference in (False, True) for usage in LIKERT]
    rows.append(Row("agreement", "three methods compared in pairs", "Bradley-Terry strength", _strength, PROMISE))
    return [*rows, *(_row(former, usage, None, _PERCENTILES) for usage in ("middling", "80 % sevens"))]
