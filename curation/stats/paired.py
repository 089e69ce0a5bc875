"""Two editors (or judges) on the same cases: paired differences, tests, many comparisons, and what could be seen.

The sign-flip test is exact for its own null: the two sides are exchangeable in every case, so that each difference is
as likely as its opposite. Where differences are skewed, a mean of zero is another null, which it rejects too often;
``studentised`` tests that one. Few cases show too little of their skewness to choose a test by it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from curation.stats.bootstrap import DEFAULT, Resampling
from curation.stats.estimates import Floats

_ROUNDING = 1e-12  # smaller differences are none
_ALL_SIGNS = 16  # non-zero differences up to which all sign patterns are tried: 2^16 of them
_CHUNK = 4_000_000


def sign_flip(differences: Floats, resampling: Resampling = DEFAULT) -> float | None:
    """Two-sided p of the null that in every case each difference is as likely as its opposite; None without draws.

    Zero differences change nothing and are left out, those below 1e-12 too: they come from the order of additions. If
    all are zero, p is 1.

    Example:
        >>> sign_flip(np.array([1.0, 2.0, 3.0]))
        0.25
    """
    return sign_flips(np.asarray(differences, dtype=np.float64)[None], resampling)[0]


def sign_flips(rows: Floats, resampling: Resampling = DEFAULT) -> list[float | None]:
    """The same of several comparisons at once: one p a row of differences (comparisons, cases), 0 where there is none.

    All rows have the same random sign patterns.
    """
    rows = np.where(np.abs(rows) > _ROUNDING, rows, 0.0)
    out: list[float | None] = [_all_signs(row[row != 0]) for row in rows]
    many = [n for n, p in enumerate(out) if p is None]
    if not many or not resampling.resamples:
        return out
    gaps, cases = rows[many].T, rows.shape[1]
    seen, hits = np.abs(gaps.sum(axis=0)) * (1 - 1e-9), np.zeros(len(many))
    rng, chunk = np.random.default_rng([resampling.seed, 3]), max(1, _CHUNK // cases)
    for start in range(0, resampling.resamples, chunk):
        size = min(chunk, resampling.resamples - start)
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(size, cases), dtype=np.int8)
        hits += (np.abs(signs @ gaps) >= seen).sum(axis=0)
    for n, count in zip(many, hits.tolist(), strict=True):
        out[n] = (count + 1) / (resampling.resamples + 1)
    return out


def _all_signs(gaps: Floats) -> float | None:
    """The exact p from all sign patterns; None where there are too many of them."""
    n = len(gaps)
    if n > _ALL_SIGNS:
        return None
    if n == 0:
        return 1.0
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return float((np.abs((1 - 2 * bits) @ gaps) >= abs(gaps.sum()) * (1 - 1e-9)).mean())


def smallest_p(n: int) -> float:
    """The smallest p that a sign-flip test of ``n`` differing cases can have: all signs alike.

    Example:
        >>> smallest_p(6), smallest_p(0)
        (0.03125, 1.0)
    """
    return min(1.0, 2.0 ** (1 - n))


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Holm's correction of a family of p values: compare the result with the level itself.

    A None (undefined) stays None and does not count towards the family.

    Args:
        p_values: Name of each comparison, and its p.

    Example:
        >>> {k: p if p is None else round(p, 3) for k, p in holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": None}).items()}
        {'a': 0.03, 'b': 0.06, 'c': 0.06, 'd': None}
    """
    family = sorted((p, name) for name, p in p_values.items() if p is not None)
    out: dict[str, float | None] = dict.fromkeys(p_values)
    highest = 0.0
    for rank, (p, name) in enumerate(family):
        highest = max(highest, min(1.0, p * (len(family) - rank)))
        out[name] = highest
    return out


def power_of(effect: float, *, sd: float, n: int, level: float = 0.05) -> float:
    """Power of a two-sided paired t test for a true mean difference, for normal differences with that ``sd``.

    Example:
        >>> round(power_of(0.5, sd=1.0, n=34), 3)
        0.808
    """
    from scipy import stats  # type: ignore[import-untyped]

    _check_design(sd, n, level)
    critical = float(stats.t.ppf(1 - level / 2, n - 1))
    shift = abs(effect) * math.sqrt(n) / sd
    near, far = float(stats.nct.sf(critical, n - 1, shift)), float(stats.nct.cdf(-critical, n - 1, shift))
    return near + (0.0 if math.isnan(far) else far)  # scipy gives up on the wrong tail where it is far below 1e-15


def smallest_detectable(*, sd: float, n: int, power: float = 0.8, level: float = 0.05, family: int = 1) -> float:
    """Smallest true mean difference that ``n`` cases show with the given power.

    Args:
        sd: Standard deviation of the differences over cases (``Paired.sd``).
        n: Cases.
        power: Wanted chance of a significant result.
        level: Two-sided level of the whole family.
        family: Number of comparisons; the level of one is ``level / family``, as in Holm's hardest step.

    Returns:
        The difference in the unit of ``sd``.

    Example:
        >>> round(smallest_detectable(sd=0.4, n=100), 3)
        0.113
    """
    if not level < power < 1:
        raise ValueError("power is between the level and 1")
    if family < 1:
        raise ValueError("a family has at least one comparison")
    _check_design(sd, n, level)
    return sd * _smallest_effect(n, power, level / family)


def cases_needed(difference: float, *, sd: float, power: float = 0.8, level: float = 0.05, family: int = 1) -> int:
    """The fewest cases that show a true mean difference with the given power; the other way round.

    Example:
        >>> cases_needed(0.5, sd=1.0), cases_needed(0.5, sd=1.0, family=10)
        (34, 58)
    """
    if not difference > 0:
        raise ValueError("a difference is above 0")
    enough = 2
    while smallest_detectable(sd=sd, n=enough, power=power, level=level, family=family) > difference:
        enough *= 2

    def shows(n: int) -> bool:
        return smallest_detectable(sd=sd, n=n, power=power, level=level, family=family) <= difference

    return bisect_left(range(enough), True, lo=max(2, enough // 2), key=shows)


@lru_cache(maxsize=4096)
def _smallest_effect(n: int, power: float, level: float) -> float:
    """The same in standard deviations: one number a design, whatever is compared."""
    from scipy import optimize

    top = 1 / math.sqrt(n)
    while power_of(top, sd=1.0, n=n, level=level) < power:
        top *= 2
    return float(optimize.brentq(lambda d: power_of(d, sd=1.0, n=n, level=level) - power, 0.0, top, xtol=1e-12))


def _check_design(sd: float, n: int, level: float) -> None:
    if not (sd > 0 and n >= 2 and 0 < level < 1):
        raise ValueError("a design has sd > 0, n >= 2 and a level between 0 and 1")
