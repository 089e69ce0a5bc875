"""How reliable the mean of k people is, and so how high a perfect judge could correlate with it."""

from __future__ import annotations

import itertools
import math

import numpy as np

from curation.stats.bootstrap import DEFAULT, FISHER, Resampling, draw_counts, ends, student_ends_of_draws
from curation.stats.estimates import Estimate, Floats, undefined
from curation.stats.rating_table import RatingTable

MOSTLY_EQUAL = 0.7
"""Share of equal ratings from which on a ceiling has no interval: it would hold the truth in 87 % of studies."""
FEW_DIFFER = "most ratings are equal, so the few that differ decide the ceiling"
_CONSTANT = 1e-9  # variance, of that of all ratings of a rater, below which the resampled ones are all equal


def mean_correlation(values: Floats) -> float:
    """Mean Pearson correlation over the pairs of raters (units, raters), NaN where no pair has one.

    Pairs with fewer than three units in common, or with a rater who never varies, have none.

    Example:
        >>> round(mean_correlation(np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]])), 2)
        0.5
    """
    correlations = []
    for a, b in itertools.combinations(range(values.shape[1]), 2):
        both = ~np.isnan(values[:, a]) & ~np.isnan(values[:, b])
        x, y = values[both, a], values[both, b]
        if len(x) >= 3 and x.std() > 0 and y.std() > 0:
            correlations.append(float(np.corrcoef(x, y)[0, 1]))
    return float(np.mean(correlations)) if correlations else math.nan


def spearman_brown(r: float, k: float) -> float:
    """Reliability of the mean of k raters, of whom two correlate with r; minus infinity where they cancel out.

    Example:
        >>> round(spearman_brown(0.5, 3), 2), spearman_brown(-1.0, 2)
        (0.75, -inf)
    """
    common = 1 + (k - 1) * r
    return k * r / common if common else -math.inf


def ceiling(table: RatingTable, *, k: int | None = None, resampling: Resampling = DEFAULT) -> Estimate:
    """The highest correlation that a perfect judge could reach with the mean of k people: sqrt(Spearman-Brown).

    A judge that knew the true value of every unit would still miss the people's own noise. The true value is what the
    panel would say on average, not the truth. The interval is Student's t on Fisher's scale over resampled cases; there
    is none where the resamples do not differ, and where most ratings are equal (benchmarks/results/coverage.md).

    Args:
        table: Ratings on a scale of numbers.
        k: People whose mean is meant; all raters of the table where it is None.
        resampling: Cases are resampled; a resample whose mean correlation is not positive counts as 0.
    """
    k = len(table.raters) if k is None else k
    name = f"ceiling of a judge against the mean of {k}"
    if not table.numeric:
        return undefined(name, "the categories are names, not numbers")
    if len(table.raters) < 2:
        return undefined(name, "there is one rater")
    values, groups = table.values, table.case_groups
    r = mean_correlation(values)
    n, cases = len(table.units), len(groups.names)
    if math.isnan(r):
        return undefined(name, "no two raters share three units on which both vary", n=n, cases=cases)
    if r <= 0:
        return undefined(name, f"the mean correlation between raters is {r:.3f}, not above 0", n=n, cases=cases)
    blocks = draw_counts(cases, resampling, width=2 * n)
    draws = [one for counts in blocks for one in np.maximum(_resampled_correlations(values, counts[:, groups.of]), 0.0)]
    value, *ceilings = (math.sqrt(spearman_brown(float(one), k)) for one in (r, *draws))
    low, high, note = ends(np.array(ceilings), resampling, cases=cases)
    if low is not None:
        scale = FISHER._replace(lowest=0.0)
        low, high, note = student_ends_of_draws(value, np.array(ceilings), scale, resampling, cases=cases)
    if low is not None and _share_of_commonest(values) >= MOSTLY_EQUAL:
        low, high, note = None, None, FEW_DIFFER
    return Estimate(
        name,
        value,
        low,
        high,
        n=n,
        cases=cases,
        method=resampling.describe("case bootstrap"),
        note=note or f"mean correlation between raters {r:.3f}",
    )


def _resampled_correlations(values: Floats, weights: Floats) -> Floats:
    """``mean_correlation`` of resamples, (resamples,); ``weights`` (resamples, units): how often each unit is there."""
    total, pairs = np.zeros(len(weights)), np.zeros(len(weights))
    for a, b in itertools.combinations(range(values.shape[1]), 2):
        both = ~np.isnan(values[:, a]) & ~np.isnan(values[:, b])
        x, y, w = values[both, a], values[both, b], weights[:, both]
        number = w.sum(axis=1)
        if len(x) < 2 or not (x.std() > 0 and y.std() > 0):
            continue
        x, y, size = (x - x.mean()) / x.std(), (y - y.mean()) / y.std(), np.maximum(number, 1)
        mean_x, mean_y = w @ x / size, w @ y / size
        spread_x, spread_y = w @ x**2 / size - mean_x**2, w @ y**2 / size - mean_y**2
        known = (number >= 3) & (spread_x > _CONSTANT) & (spread_y > _CONSTANT)
        product = np.sqrt(np.where(known, spread_x * spread_y, 1.0))
        total += np.where(known, (w @ (x * y) / size - mean_x * mean_y) / product, 0.0)
        pairs += known
    return np.where(pairs > 0, total / np.maximum(pairs, 1), math.nan)


def _share_of_commonest(values: Floats) -> float:
    """Of all ratings, the share of the commonest value."""
    numbers = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    return float(numbers.max() / numbers.sum())


def width_with_more(estimate: Estimate, more: int) -> float | None:
    """Width of the interval if ``more`` cases like those judged came in: it falls with the square root of the cases.

    Example:
        >>> width_with_more(Estimate("x", 0.5, 0.4, 0.6, n=100, cases=100), 300)
        0.1
    """
    if estimate.low is None or estimate.high is None or not estimate.cases:
        return None
    return round((estimate.high - estimate.low) * math.sqrt(estimate.cases / (estimate.cases + more)), 12)
