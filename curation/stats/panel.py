"""A panel of raters as a whole: all statistics side by side, each pair, each rater left out, who is severe."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from curation.stats.agreement import alpha, exact_agreement, gwet, prevalence, why_unpaired, within_one
from curation.stats.bootstrap import DEFAULT, Resampling
from curation.stats.bounded import case_mean_estimate
from curation.stats.coefficients import Level
from curation.stats.estimates import Estimate, undefined
from curation.stats.rating_table import Category, RatingTable

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
