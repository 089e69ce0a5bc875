"""Agreement of raters: Krippendorff's alpha, Gwet's AC1 and AC2, plain agreement, and who stands apart.

Every function gives an ``Estimate``: a value with an interval from resampling cases, or why it is undefined. No single
coefficient tells the story (with nearly all ratings equal, alpha is about 0 beside near-perfect agreement), so
``panel.agreement`` gives them side by side. Ratings of different aspects are different tables: pooling raises alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from curation.stats.bootstrap import DEFAULT, Resampling, bootstrap_sums, drawn, ends_of_spread
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
from curation.stats.rating_table import Category, RatingTable

_MOST_CELLS = 20_000_000  # numbers in the coincidences of all units: 160 MB


def unpaired(table: RatingTable) -> str:
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
    counts, domain = paired.counts, np.array(_numbers(paired))
    import krippendorff

    value = float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))
    groups = paired.case_groups
    if counts.size * counts.shape[1] > _MOST_CELLS:
        draws = _alpha_by_package(paired, domain, level, resampling)
    else:
        each = coincidences(counts).reshape(len(counts), -1)
        sums = sums_by(groups.of, each, len(groups.names))
        draws = bootstrap_sums(sums, lambda s: alpha_of_coincidences(s, domain, level), resampling)
    return _estimate(name, value, draws, paired, resampling)


def _for_alpha(table: RatingTable, level: Level) -> tuple[RatingTable | None, str]:
    """The units with two ratings or more over the categories that occur in them; or None and why not."""
    why = unpaired(table)
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
        return None, f"all values are equal ({paired.scale[int(used[0])]})"
    place = np.full(len(paired.scale) + 1, np.nan)
    place[used] = np.arange(len(used))
    codes = place[np.where(np.isnan(paired.codes), len(paired.scale), paired.codes).astype(np.int64)]
    scale = tuple(paired.scale[int(u)] for u in used)
    return RatingTable(codes, paired.units, paired.raters, paired.cases, scale, paired.ordered), ""


def _paired_units(table: RatingTable) -> RatingTable:
    keep = np.flatnonzero((~np.isnan(table.codes)).sum(axis=1) >= 2)
    units, cases = tuple(table.units[k] for k in keep), tuple(table.cases[k] for k in keep)
    return RatingTable(table.codes[keep], units, table.raters, cases, table.scale, table.ordered)


def _numbers(table: RatingTable) -> list[float]:
    return [float(n) if isinstance(c, str) else float(c) for n, c in enumerate(table.scale)]


def _alpha_by_package(table: RatingTable, domain: Floats, level: Level, resampling: Resampling) -> Floats:
    """Draws (resamples,) one by one: for many categories, where summed coincidences would not fit in memory."""
    import krippendorff

    groups, counts, out = table.case_groups, table.counts, []
    for chunk in drawn(len(groups.names), resampling):
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
    why = unpaired(table)
    if not why and len(table.scale) < 2:
        why = f"all values are equal ({table.scale[0]}) and the scale has no other category"
    if not why and not table.ordered and not custom and weights != "identity":
        why = "the categories are names without a declared order"
    if why:
        return undefined(name, why, n=len(table.units))
    matrix = gwet_weights(np.array(_numbers(table)), weights)
    value, draws = _of_sums(table, gwet_sums(table.counts, matrix), lambda s: gwet_of_sums(s, matrix), resampling)
    if np.isnan(value):
        return undefined(name, "agreement by chance is certain under these weights", n=len(table.units))
    return _estimate(name, value, draws, table, resampling)


def exact_agreement(table: RatingTable, *, resampling: Resampling = DEFAULT) -> Estimate:
    """Share of pairs of raters who give the same rating: mean over the units with two ratings or more."""
    return _share(table, "exact agreement", np.eye(len(table.scale)), resampling)


def within_one(table: RatingTable, *, resampling: Resampling = DEFAULT) -> Estimate:
    """Share of pairs of raters who are at most 1 apart: by value for numbers, by position for ordered names."""
    if not table.ordered:
        return undefined("within one", "the categories are names without a declared order", n=len(table.units))
    numbers = np.array(_numbers(table))
    near = np.abs(numbers[:, None] - numbers[None, :]) <= 1 + 1e-9
    return _share(table, "within one", near.astype(np.float64), resampling)


def prevalence(table: RatingTable, *, resampling: Resampling = DEFAULT) -> Mapping[Category, Estimate]:
    """How much of the ratings each category of the scale gets: mean over units of its share, so that sums are 1."""
    counts = table.counts
    rated = counts.sum(axis=1) > 0
    if not rated.any():
        return {c: undefined(f"prevalence of {c}", "there is no rating") for c in table.scale}
    out = {}
    for n, category in enumerate(table.scale):
        share = counts[:, n] / np.maximum(counts.sum(axis=1), 1)
        value, draws = _of_sums(table, np.column_stack([share, rated]), _ratio, resampling)
        out[category] = _estimate(f"prevalence of {category}", value, draws, table, resampling)
    return out


def _share(table: RatingTable, name: str, matrix: Floats, resampling: Resampling) -> Estimate:
    why = unpaired(table)
    if why:
        return undefined(name, why, n=len(table.units))
    paired = _paired_units(table)
    each = unit_agreement(paired.counts, matrix)
    value, draws = _of_sums(paired, np.column_stack([each, np.ones_like(each)]), _ratio, resampling)
    return _estimate(name, value, draws, paired, resampling)


def _ratio(sums: Floats) -> Floats:
    return np.asarray(np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0))


def _of_sums(
    table: RatingTable, rows: Floats, statistic: Callable[[Floats], Floats], resampling: Resampling
) -> tuple[float, Floats]:
    """A statistic of summed units (units, m), and its draws when cases are resampled."""
    groups = table.case_groups
    sums = sums_by(groups.of, rows, len(groups.names))
    return float(statistic(sums.sum(axis=0)[None])[0]), bootstrap_sums(sums, statistic, resampling)


def _estimate(name: str, value: float, draws: Floats, table: RatingTable, resampling: Resampling) -> Estimate:
    cases = len(table.case_groups.names)
    low, high, note = ends_of_spread(draws, resampling, cases=cases)
    method = resampling.describe("case bootstrap") if low is not None else ""
    return Estimate(name, value, low, high, len(table.units), cases, method, note=note)
