"""Agreement of raters: Krippendorff's alpha, Gwet's AC1 and AC2, plain agreement, and who stands apart.

Every function gives an ``Estimate``: a value with an interval from resampling cases, or why it is undefined. No single
coefficient tells the story (with nearly all ratings equal, alpha is about 0 beside near-perfect agreement), so
``panel.agreement`` gives them side by side. Ratings of different aspects are different tables: pooling raises alpha.

Intervals of alpha and Gwet's coefficients come from the spread over resampled cases, to which two that were not seen
are added: one in which raters differ as far as the scale allows, one in which they agree on what is rare. Few cases
that agree say little of how cases vary, and near a ceiling the few that differ decide
(benchmarks/results/coverage.md). Shares have the intervals of rates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from curation.stats.bootstrap import (
    DEFAULT,
    DISAGREEMENT,
    Resampling,
    bootstrap_sums,
    draw_counts,
    student_ends_of_draws,
)
from curation.stats.bounded import Spread, beta_ends
from curation.stats.coefficients import (
    Level,
    Weights,
    alpha_of_coincidences,
    coincidences,
    gwet_of_sums,
    gwet_sums,
    gwet_weights,
    unit_agreement,
)
from curation.stats.estimates import Estimate, Floats, sums_by, undefined
from curation.stats.intervals import LEAST_CASES
from curation.stats.rating_table import Category, RatingTable

_LEAST_DISAGREEMENT = 8  # by simulation: 4 covers 84 % near a ceiling; 1,000 is far too wide for near-perfect raters
_MOST_CELLS = 20_000_000  # numbers in the coincidences of all units: 160 MB


def why_unpaired(table: RatingTable) -> str:
    """Why there is no pair of ratings to compare; empty where there is one."""
    rated = ~np.isnan(table.codes)
    if not rated.any():
        return "there is no rating"
    if rated.any(axis=0).sum() < 2:
        return "there is one rater"
    if not (rated.sum(axis=1) >= 2).any():
        return "no unit was rated by two raters"
    return ""


def alpha(table: RatingTable, *, level: Level, resampling: Resampling = DEFAULT) -> Estimate:
    """Krippendorff's alpha with an interval from resampling cases.

    The value is that of the package ``krippendorff``, to which the level is always passed. Units with fewer than two
    ratings do not count. The resamples are computed from coincidence matrices summed by case.

    Args:
        table: The ratings.
        level: What differences mean: ``nominal``, ``ordinal``, ``interval`` or ``ratio``.
        resampling: Resamples (of cases), seed, confidence.

    Example:
        >>> from curation.stats.rating_table import rating_table
        >>> rows = [("a", "x", 1), ("a", "y", 1), ("b", "x", 2), ("b", "y", 3), ("c", "x", 3), ("c", "y", 3)]
        >>> alpha(rating_table(rows), level="ordinal", resampling=Resampling(0)).text()
        '0.778 [no interval: no resampling was asked for]'
        >>> alpha(rating_table(rows[:1]), level="nominal").text()
        'undefined, because there is one rater'
    """
    name = f"alpha ({level})"
    paired, why = _for_alpha(table, level)
    if paired is None:
        return undefined(name, why, n=len(table.units))
    import krippendorff

    seen = _used_categories(paired)
    domain = np.array(_numbers(seen))
    value = float(krippendorff.alpha(value_counts=seen.counts, value_domain=domain, level_of_measurement=level))
    wider = _used_categories(_with_unseen_cases(paired))
    domain, counts, groups = np.array(_numbers(wider)), wider.counts, wider.case_groups
    with_unseen = float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))
    if counts.size * counts.shape[1] > _MOST_CELLS:
        draws = _alpha_by_package(wider, domain, level, resampling)
    else:
        each = coincidences(counts).reshape(len(counts), -1)
        sums = sums_by(groups.of, each, len(groups.names))
        draws = bootstrap_sums(sums, lambda s: alpha_of_coincidences(s, domain, level), resampling)
    return _coefficient(name, value, draws, with_unseen, paired, resampling)


def _for_alpha(table: RatingTable, level: Level) -> tuple[RatingTable | None, str]:
    """The units with two ratings or more; or None and why there is no alpha."""
    why = why_unpaired(table)
    if not why and not table.ordered and level != "nominal":
        why = "the categories are names without a declared order"
    if not why and not table.numeric and level in ("interval", "ratio"):
        why = "the categories are names, not numbers"
    if not why and level == "ratio" and min(_numbers(table)) < 0:
        why = "a ratio scale has no negative values"
    if why:
        return None, why
    paired = _paired_units(table)
    used = np.flatnonzero(paired.counts.sum(axis=0))
    if len(used) < 2:
        only = paired.scale[int(used[0])]
        alone = np.count_nonzero(table.counts.sum(axis=0)) > 1
        which = "of the items with two raters or more " if alone else ""
        return None, f"all values {which}are equal ({only})"
    return paired, ""


def _used_categories(table: RatingTable) -> RatingTable:
    """The same ratings over the categories that occur."""
    used = np.flatnonzero(table.counts.sum(axis=0))
    place = np.full(len(table.scale) + 1, np.nan)
    place[used] = np.arange(len(used))
    codes = place[np.where(np.isnan(table.codes), len(table.scale), table.codes).astype(np.int64)]
    scale = tuple(table.scale[int(u)] for u in used)
    return RatingTable(codes, table.units, table.raters, table.cases, scale, table.ordered)


def _with_unseen_cases(table: RatingTable) -> RatingTable:
    """Two cases more, as large as the others: one of the widest disagreement, one of agreement on what is rare.

    Both are about the most common category and that furthest from it (for names without an order: the rarest).
    """
    usage = table.counts.sum(axis=0)
    usual, numbers = int(usage.argmax()), np.array(_numbers(table))
    rarity = np.abs(numbers - numbers[usual]) if table.ordered else -usage
    rarity[usual] = -np.inf
    rare, rated = int(rarity.argmax()), (~np.isnan(table.codes)).sum(axis=1)
    raters = max(2, round(float(rated[rated >= 2].mean())))
    each = max(1, round(len(table.units) / len(table.case_groups.names)))
    rows = np.full((2 * each, table.codes.shape[1]), np.nan)
    rows[:, :raters] = rare
    rows[:each, : raters - raters // 2] = usual
    names = tuple(f"\0unseen {k}" for k in range(2 * each))
    cases = tuple(f"\0unseen {k // each}" for k in range(2 * each))
    codes = np.vstack([table.codes, rows])
    return RatingTable(codes, (*table.units, *names), table.raters, (*table.cases, *cases), table.scale, table.ordered)


def _paired_units(table: RatingTable) -> RatingTable:
    return _of_units(table, (~np.isnan(table.codes)).sum(axis=1) >= 2)


def _numbers(table: RatingTable) -> list[float]:
    return [float(n) if isinstance(c, str) else float(c) for n, c in enumerate(table.scale)]


def _alpha_by_package(table: RatingTable, domain: Floats, level: Level, resampling: Resampling) -> Floats:
    """Draws (resamples,) one by one: for many categories, where summed coincidences would not fit in memory."""
    import krippendorff

    groups, counts, out = table.case_groups, table.counts, []
    for chunk in draw_counts(len(groups.names), resampling):
        for times in chunk:
            rows = np.repeat(counts, times[groups.of].astype(np.int64), axis=0)
            with np.errstate(invalid="ignore"):  # 0/0 where a resample has one value: NaN says it
                one = krippendorff.alpha(value_counts=rows, value_domain=domain, level_of_measurement=level)
            out.append(float(one))
    return np.array(out)


def gwet(table: RatingTable, *, weights: Weights | Floats = "identity", resampling: Resampling = DEFAULT) -> Estimate:
    """Gwet's AC1 (identity weights) or AC2 (any others) with an interval from resampling cases.

    Unlike alpha it stays near the plain agreement where nearly all ratings are equal. It depends on how many categories
    the scale has, used or not: declare the scale when building the table. Units with one rating count towards how often
    categories are used, as in Gwet (2014).

    Args:
        table: The ratings.
        weights: Partial agreement: ``identity``, ``linear``, ``quadratic``, ``ordinal``, or a matrix (q, q).
        resampling: Resamples (of cases), seed, confidence.

    Example:
        >>> from curation.stats.rating_table import rating_table
        >>> rows = [(u, r, "keep") for u in "abc" for r in ("x", "y")] + [("d", "x", "keep"), ("d", "y", "drop")]
        >>> round(gwet(rating_table(rows)).value, 3)
        0.68
    """
    custom = not isinstance(weights, str)
    name = "AC1" if not custom and weights == "identity" else f"AC2 ({'custom' if custom else weights})"
    why = why_unpaired(table)
    if not why and len(table.scale) < 2:
        why = f"all values are equal ({table.scale[0]}) and the scale has no other category"
    if not why and not table.ordered and not custom and weights != "identity":
        why = "the categories are names without a declared order"
    if why:
        return undefined(name, why, n=len(table.units))
    matrix = gwet_weights(np.array(_numbers(table)), weights)
    value = float(gwet_of_sums(gwet_sums(table.counts, matrix).sum(axis=0)[None], matrix)[0])
    if np.isnan(value):
        return undefined(name, "agreement by chance is certain under these weights", n=len(table.units))
    wider = _with_unseen_cases(table)
    groups = wider.case_groups
    sums = sums_by(groups.of, gwet_sums(wider.counts, matrix), len(groups.names))
    draws = bootstrap_sums(sums, lambda s: gwet_of_sums(s, matrix), resampling)
    with_unseen = float(gwet_of_sums(sums.sum(axis=0)[None], matrix)[0])
    return _coefficient(name, value, draws, with_unseen, table, resampling)


def exact_agreement(table: RatingTable) -> Estimate:
    """Share of pairs of raters who give the same rating: mean over the units with two ratings or more."""
    return _share(table, "exact agreement", np.eye(len(table.scale)))


def within_one(table: RatingTable) -> Estimate:
    """Share of pairs of raters who are at most 1 apart: by value for numbers, by position for ordered names."""
    if not table.ordered:
        return undefined("within one", "the categories are names without a declared order", n=len(table.units))
    numbers = np.array(_numbers(table))
    near = np.abs(numbers[:, None] - numbers[None, :]) <= 1 + 1e-9
    return _share(table, "within one", near.astype(np.float64))


def prevalence(table: RatingTable) -> Mapping[Category, Estimate]:
    """How much of the ratings each category of the scale gets: mean over units of its share, so that sums are 1."""
    counts = table.counts
    rated = counts.sum(axis=1) > 0
    if not rated.any():
        return {c: undefined(f"prevalence of {c}", "there is no rating") for c in table.scale}
    out = {}
    for n, category in enumerate(table.scale):
        share = counts[:, n] / np.maximum(counts.sum(axis=1), 1)
        out[category] = _mean_over_units(f"prevalence of {category}", share[rated], _of_units(table, rated))
    return out


def _share(table: RatingTable, name: str, matrix: Floats) -> Estimate:
    why = why_unpaired(table)
    if why:
        return undefined(name, why, n=len(table.units))
    paired = _paired_units(table)
    return _mean_over_units(name, unit_agreement(paired.counts, matrix), paired)


def _of_units(table: RatingTable, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> RatingTable:
    """Some units of a table."""
    some = np.flatnonzero(keep)
    units, cases = tuple(table.units[k] for k in some), tuple(table.cases[k] for k in some)
    return RatingTable(table.codes[some], units, table.raters, cases, table.scale, table.ordered)


def _mean_over_units(name: str, shares: Floats, table: RatingTable) -> Estimate:
    """Mean of shares over units with its default interval (``bounded``), clustered by case.

    Args:
        name: Of the statistic.
        shares: From 0 to 1, one a unit of the table.
        table: For the case of each unit.
    """
    groups, value = table.case_groups, float(shares.mean())
    cases = len(groups.names)
    off = np.bincount(groups.of, weights=shares - value, minlength=cases) / len(shares)
    ends = beta_ends(Spread(value, float((off**2).sum()) * cases / max(cases - 1, 1), cases))
    if ends is None or cases < LEAST_CASES:
        return Estimate(name, value, n=len(shares), cases=cases, note=f"n = {cases}: too few")
    return Estimate(name, value, *ends, len(shares), cases, "beta, by case, 95 %")


def _coefficient(
    name: str, value: float, draws: Floats, with_unseen: float, table: RatingTable, resampling: Resampling
) -> Estimate:
    """A coefficient with its interval from draws; ``with_unseen``: its value with the two cases that were not seen.

    Perfect agreement has no logarithm of its disagreement: nothing is taken to disagree less than an eighth of what the
    unseen cases bring.
    """
    cases = len(table.case_groups.names)
    nearest = 1 - (1 - with_unseen) / _LEAST_DISAGREEMENT
    low, high, note = student_ends_of_draws(value, draws, DISAGREEMENT, resampling, cases=cases, nearest=nearest)
    method = resampling.describe(f"case bootstrap with two unseen cases, t on {DISAGREEMENT.name}")
    return Estimate(name, value, low, high, len(table.units), cases, method if low is not None else "", note=note)
