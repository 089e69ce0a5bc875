"""Intervals of a share of independent yes-or-no outcomes."""

from __future__ import annotations

from math import sqrt

from curation.stats.estimates import Estimate, undefined


def binomial_interval(hits: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """Share ``hits / n`` with the exact (Clopper-Pearson) interval, which covers at least as often as it says.

    For outcomes that are independent: one a case. Several prompts of a case are not (``bootstrap.cluster_bootstrap``).

    Example:
        >>> binomial_interval(9, 10).text()
        '0.900 [0.555, 0.997]'
        >>> binomial_interval(0, 0).text()
        'undefined, because there is no outcome'
    """
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} hits of {n}")
    if n == 0:
        return undefined("share", "there is no outcome")
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return Estimate("share", hits / n, low, high, n, n, f"exact binomial (Clopper-Pearson), {100 * confidence:g} %")


def wilson_interval(hits: int, n: int) -> Estimate:
    """Share ``hits / n`` with Wilson's 95 % score interval: narrower than the exact one, and right on average.

    Example:
        >>> wilson_interval(9, 10).text()
        '0.900 [0.596, 0.982]'
        >>> wilson_interval(0, 0).text()
        'undefined, because there is no outcome'
    """
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} hits of {n}")
    if n == 0:
        return undefined("share", "there is no outcome")
    share, z = hits / n, 1.959963984540054
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = (0.0 if hits == 0 else middle - half), (1.0 if hits == n else middle + half)
    return Estimate("share", share, low, high, n, n, "Wilson score, 95 %")
