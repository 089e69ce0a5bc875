"""Intervals of a share of independent yes-or-no outcomes, and the bound of any mean on a scale that extends them."""

from __future__ import annotations

from curation.stats.estimates import Estimate, undefined

_ROUNDING = 1e-12


def binomial_interval(hits: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """Share ``hits / n`` with the exact (Clopper-Pearson) interval, which covers at least as often as it says.

    For outcomes that are independent: one a case. Several prompts of a case are not (``bootstrap.cluster_bootstrap``).

    Example:
        >>> binomial_interval(9, 10).text()
        '0.900 [0.555, 0.997]'
        >>> binomial_interval(0, 0).text()
        'undefined, because there is no outcome'
    """
    return _share(hits, n, "exact", f"exact binomial (Clopper-Pearson), {100 * confidence:g} %", confidence)


def wilson_interval(hits: int, n: int) -> Estimate:
    """Share ``hits / n`` with Wilson's 95 % score interval: narrower than the exact one, and right on average.

    Example:
        >>> wilson_interval(9, 10).text()
        '0.900 [0.596, 0.982]'
    """
    return _share(hits, n, "wilson", "Wilson score, 95 %", 0.95)


def _share(hits: int, n: int, kind: str, method: str, confidence: float) -> Estimate:
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    if not 0 <= hits <= n:
        raise ValueError(f"{hits} hits of {n}")
    if n == 0:
        return undefined("share", "there is no outcome")
    ends = binomtest(hits, n).proportion_ci(confidence, kind)
    return Estimate("share", hits / n, float(ends.low), float(ends.high), n, n, method)


def end_with_unseen_case(share: float, variance: float, n: float, end: int, tail: float) -> float:
    """Where the mean of values from 0 to 1 may still lie if one more case lay at an end of that scale.

    The cases weigh as the spacings of uniform draws (Gaffke 2005; Learned-Miller and Thomas 2020). Of their weighted
    mean this is the quantile, by a beta of its mean and variance; the Clopper-Pearson end for yes or no.

    Args:
        share: Mean of the values.
        variance: Of that mean.
        n: Independent values.
        end: End of the scale, 0 or 1.
        tail: Chance left out at that end.

    Example:
        >>> [round(end_with_unseen_case(share, share * (1 - share) / 9, 10, 0, 0.025), 3) for share in (0.9, 1.0)]
        [0.555, 0.692]
    """
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    mean = (n * share + end) / (n + 1)
    squares = variance * n * (n - 1) + n * (share - mean) ** 2 + (end - mean) ** 2
    if squares <= _ROUNDING:
        return share
    mass = max(mean * (1 - mean) * (n + 1) * (n + 2) / squares - 1, _ROUNDING)
    return float(betaincinv(mean * mass, (1 - mean) * mass, tail if end == 0 else 1 - tail))
