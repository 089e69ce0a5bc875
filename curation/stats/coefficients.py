"""The arithmetic of agreement coefficients, for many resamples at once; ``agreement`` is the interface.

Krippendorff, Content Analysis (2004), chapter 11, for alpha; Gwet, Handbook of Inter-Rater Reliability (2014), for AC1,
AC2 and the weights.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from curation.stats.estimates import Floats
from schemas.core.errors import UserError

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["identity", "linear", "quadratic", "ordinal"]


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
    apart = domain[:, None] - domain[None, :]
    if level == "interval":
        return np.asarray(apart**2)[None]
    both = domain[:, None] + domain[None, :]
    return np.asarray(np.divide(apart, both, out=np.zeros_like(apart), where=both != 0) ** 2)[None]


def gwet_weights(numbers: Floats, weights: Weights | Floats) -> Floats:
    """Weights (q, q) of partial agreement between categories: 1 on the diagonal, 0 for the most distant.

    Args:
        numbers: The q categories as numbers, ascending.
        weights: ``identity`` (AC1), ``linear`` and ``quadratic`` (by distance), ``ordinal`` (by the number of pairs
            among the categories from one to the other), or a symmetric matrix with 1 on the diagonal.

    Example:
        >>> gwet_weights(np.array([1.0, 2.0, 3.0]), "ordinal").round(4)[0].tolist()
        [1.0, 0.6667, 0.0]
    """
    q = len(numbers)
    if not isinstance(weights, str):
        matrix = np.asarray(weights, dtype=np.float64)
        if matrix.shape != (q, q) or not np.allclose(matrix, matrix.T) or not np.allclose(np.diag(matrix), 1):
            raise UserError("weights are not a symmetric matrix with ones on the diagonal", allowed=f"shape {q} x {q}")
        return matrix
    if weights == "identity" or q < 2:
        return np.eye(q)
    apart = np.abs(numbers[:, None] - numbers[None, :])
    if weights == "linear":
        return np.asarray(1 - apart / apart.max())
    if weights == "quadratic":
        return np.asarray(1 - (apart / apart.max()) ** 2)
    steps = np.abs(np.arange(q)[:, None] - np.arange(q)[None, :])
    pairs = steps * (steps + 1) / 2
    return np.asarray(1 - pairs / pairs.max())


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
    lost = np.full(len(sums), np.nan)
    observed = np.divide(sums[:, 0], paired, out=lost.copy(), where=paired > 0)
    shares = np.divide(sums[:, 3:], rated[:, None], out=np.full((len(sums), q), np.nan), where=rated[:, None] > 0)
    by_chance = weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)
    room = 1 - by_chance
    return np.asarray(np.divide(observed - by_chance, room, out=lost, where=np.abs(room) > 1e-12))
