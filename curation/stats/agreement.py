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

import itertools
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from curation.stats.bootstrap import (
    DEFAULT,
    DISAGREEMENT,
    Resampling,
    bootstrap_sums,
    student_ends_of_draws,
)
from curation.stats.bounded import Spread, beta_ends, case_mean_estimate
from curation.stats.estimates import Estimate, Floats, sums_by, undefined
from curation.stats.intervals import LEAST_CASES
from curation.stats.rating_table import Category, RatingTable
from schemas.core.registry import check_choice

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["identity", "quadratic"]


def coincidences(counts: Floats) -> Floats:
    """What every unit adds to the coincidence matrix: (units, V, V) from counts (units, V)."""
    raters = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs -= counts[:, :, None] * np.eye(counts.shape[1])
    return np.asarray(pairs / np.maximum(raters - 1, 1)[:, None, None])


def alpha_of_coincidences(flat: Floats, domain: Floats, level: Level) -> Floats:
    """Alpha of coincidence matrices.

    Args:
        flat: Coincidence matrices, flattened: (resamples, V * V).
        domain: The V values in ascending order.
        level: What differences mean.

    Returns:
        Array (resamples,); NaN where no disagreement is possible, as all values are equal.
    """
    v = len(domain)
    seen = flat.reshape(-1, v, v)
    totals = seen.sum(axis=1)
    n = totals.sum(axis=1)
    distance = _distances(totals, domain, level)
    observed = (seen * distance).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2))
    ratio = np.divide((n - 1) * observed, expected, out=np.full(len(n), np.nan), where=expected > 0)
    return np.asarray(1 - ratio)


def _distances(totals: Floats, domain: Floats, level: Level) -> Floats:
    """Squared distances between values: (resamples or 1, V, V). Ordinal ones depend on how often values occur."""
    if level == "nominal":
        return (1 - np.eye(len(domain)))[None]
    if level == "ordinal":  # the sum of the counts from g to h, less half of both ends, is a difference of mid-ranks
        middle = totals.cumsum(axis=1) - totals / 2
        return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)
    return np.asarray((domain[:, None] - domain[None, :]) ** 2)[None]


def gwet_weights(numbers: Floats, weights: Weights) -> Floats:
    """Weights (q, q) of partial agreement between categories: 1 on the diagonal, 0 for the most distant.

    Args:
        numbers: The q categories as numbers, ascending.
        weights: ``identity`` (AC1), or ``quadratic`` (by squared distance).

    Example:
        >>> gwet_weights(np.array([1.0, 2.0, 3.0]), "quadratic")[0].tolist()
        [1.0, 0.75, 0.0]
    """
    if weights == "identity" or len(numbers) < 2:
        return np.eye(len(numbers))
    apart = np.abs(numbers[:, None] - numbers[None, :])
    return np.asarray(1 - (apart / apart.max()) ** 2)


def unit_agreement(counts: Floats, weights: Floats) -> Floats:
    """Weighted share of agreeing pairs of raters in every unit with two ratings: (units,), NaN elsewhere."""
    raters = counts.sum(axis=1)
    agreeing = (counts * (counts @ weights - 1)).sum(axis=1)
    pairs = raters * (raters - 1)
    return np.asarray(np.divide(agreeing, pairs, out=np.full(len(raters), np.nan), where=pairs > 0))


def gwet_sums(counts: Floats, weights: Floats) -> Floats:
    """What every unit adds to Gwet's coefficient: (units, 3 + q).

    Columns: agreement, whether it has a pair, whether it has a rating, share of its ratings in each category.
    """
    raters = counts.sum(axis=1)
    agreement = unit_agreement(counts, weights)
    shares = counts / np.maximum(raters, 1)[:, None]
    return np.column_stack([np.nan_to_num(agreement), raters >= 2, raters >= 1, shares])


def gwet_of_sums(sums: Floats, weights: Floats) -> Floats:
    """AC1 or AC2 of summed units (resamples, 3 + q): (resamples,), NaN where it is undefined."""
    q = len(weights)
    paired, rated = sums[:, 1], sums[:, 2]
    observed = np.divide(sums[:, 0], paired, out=np.full(len(sums), np.nan), where=paired > 0)
    shares = np.divide(sums[:, 3:], rated[:, None], out=np.full((len(sums), q), np.nan), where=rated[:, None] > 0)
    by_chance = weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)
    return np.asarray((observed - by_chance) / (1 - by_chance))


_LEAST_DISAGREEMENT = 8  # by simulation: 4 covers 84 % near a ceiling; 1,000 is far too wide for near-perfect raters


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
        level: What differences mean: ``nominal``, ``ordinal`` or ``interval``.
        resampling: Resamples (of cases), seed, confidence.

    Raises:
        UserError: another level.

    Example:
        >>> from curation.stats.rating_table import rating_table
        >>> rows = [("a", "x", 1), ("a", "y", 1), ("b", "x", 2), ("b", "y", 3), ("c", "x", 3), ("c", "y", 3)]
        >>> alpha(rating_table(rows), level="ordinal", resampling=Resampling(0)).text()
        '0.778 [no interval: no resampling was asked for]'
        >>> alpha(rating_table(rows[:1]), level="nominal").text()
        'undefined, because there is one rater'
    """
    check_choice(level, get_args(Level), "level")
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
    each = coincidences(counts).reshape(len(counts), -1)
    sums = sums_by(groups.of, each, len(groups.names))
    draws = bootstrap_sums(sums, lambda s: alpha_of_coincidences(s, domain, level), resampling)
    return _coefficient(name, value, draws, with_unseen, paired, resampling)


def _for_alpha(table: RatingTable, level: Level) -> tuple[RatingTable | None, str]:
    """The units with two ratings or more; or None and why there is no alpha."""
    why = why_unpaired(table)
    if not why and not table.ordered and level != "nominal":
        why = "the categories are names without a declared order"
    if not why and not table.numeric and level == "interval":
        why = "the categories are names, not numbers"
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


def gwet(table: RatingTable, *, weights: Weights = "identity", resampling: Resampling = DEFAULT) -> Estimate:
    """Gwet's AC1 (identity weights) or AC2 (quadratic ones) with an interval from resampling cases.

    Unlike alpha it stays near the plain agreement where nearly all ratings are equal. It depends on how many categories
    the scale has, used or not: declare the scale when building the table. Units with one rating count towards how often
    categories are used, as in Gwet (2014).

    Args:
        table: The ratings.
        weights: Partial agreement: ``identity`` or ``quadratic``.
        resampling: Resamples (of cases), seed, confidence.

    Example:
        >>> from curation.stats.rating_table import rating_table
        >>> rows = [(u, r, "keep") for u in "abc" for r in ("x", "y")] + [("d", "x", "keep"), ("d", "y", "drop")]
        >>> round(gwet(rating_table(rows)).value, 3)
        0.68
    """
    name = "AC1" if weights == "identity" else f"AC2 ({weights})"
    why = why_unpaired(table)
    if not why and len(table.scale) < 2:
        why = f"all values are equal ({table.scale[0]}) and the scale has no other category"
    if not why and not table.ordered and weights != "identity":
        why = "the categories are names without a declared order"
    if why:
        return undefined(name, why, n=len(table.units))
    matrix = gwet_weights(np.array(_numbers(table)), weights)
    value = float(gwet_of_sums(gwet_sums(table.counts, matrix).sum(axis=0)[None], matrix)[0])
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


Statistic = Callable[[RatingTable], Estimate]


class Agreement(NamedTuple):
    """What a report shows of one aspect: no coefficient without the plain agreement and the prevalence beside it.

    ``ac2`` has quadratic weights (the squared differences of interval alpha); names without an order have none.
    """

    level: Level
    units: int
    raters: int
    ratings: int
    alpha: Estimate
    ac1: Estimate
    ac2: Estimate
    exact: Estimate
    within_one: Estimate
    prevalence: Mapping[Category, Estimate]


def agreement(table: RatingTable, *, level: Level, resampling: Resampling = DEFAULT) -> Agreement:
    """All agreement statistics of one table (one aspect), each with the same resampled cases.

    Example:
        >>> from curation.stats.rating_table import rating_table
        >>> rows = [(f"s{n}", r, 7) for n in range(9) for r in ("ann", "bob")] + [("t", "ann", 7), ("t", "bob", 6)]
        >>> found = agreement(rating_table(rows, scale=range(1, 8)), level="ordinal", resampling=Resampling(100))
        >>> f"{found.exact.value:.2f} {found.within_one.value:.2f} {found.alpha.value:.2f} {found.ac2.value:.2f}"
        '0.90 1.00 0.00 1.00'
    """
    return Agreement(
        level=level,
        units=len(table.units),
        raters=len(table.raters),
        ratings=int((~np.isnan(table.codes)).sum()),
        alpha=alpha(table, level=level, resampling=resampling),
        ac1=gwet(table, resampling=resampling),
        ac2=gwet(table, weights="quadratic", resampling=resampling),
        exact=exact_agreement(table),
        within_one=within_one(table),
        prevalence=prevalence(table),
    )


def pairwise(table: RatingTable, statistic: Statistic) -> dict[tuple[str, str], Estimate]:
    """A statistic for every two raters, over the units that both rated; undefined where they share none.

    Args:
        table: The ratings.
        statistic: Such as ``exact_agreement`` or ``lambda t: alpha(t, level="ordinal")``.
    """
    out = {}
    for pair in itertools.combinations(table.raters, 2):
        two = table.of_raters(pair)
        why = why_unpaired(two)
        out[pair] = undefined("pair", f"{pair[0]} and {pair[1]} have no item in common") if why else statistic(two)
    return out


def leave_one_out(table: RatingTable, statistic: Statistic) -> dict[str, Estimate]:
    """A statistic without each rater in turn: a clear rise without somebody says that they rate differently."""
    return {r: statistic(table.of_raters([o for o in table.raters if o != r])) for r in table.raters}


def severity(table: RatingTable) -> dict[str, Estimate]:
    """How much higher (+) or lower (-) each rater rates than the mean of the others, over the units that they share.

    In units of the scale, as a mean of case means with Student's interval over cases. A constant difference lowers
    alpha and leaves rank correlations as they are, so both belong into a report on a judge.
    """
    if not table.numeric:
        return {r: undefined("severity", "the categories are names, not numbers") for r in table.raters}
    values = table.values
    out = {}
    for n, rater in enumerate(table.raters):
        others = np.delete(values, n, axis=1)
        rated = ~np.isnan(others)
        shared = np.flatnonzero(~np.isnan(values[:, n]) & rated.any(axis=1))
        if not len(shared):
            out[rater] = undefined("severity", f"{rater} shares no unit with another rater")
            continue
        mean = np.nansum(others[shared], axis=1) / rated[shared].sum(axis=1)
        gap = (values[shared, n] - mean).tolist()
        out[rater] = case_mean_estimate("severity", gap, [table.cases[int(s)] for s in shared])
    return out
