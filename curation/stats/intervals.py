"""Means with 95 % intervals over independent units (cases): what the tables show and what they must not hide."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from curation.stats.estimates import Estimate, undefined
from schemas.text.counting import counted

Z95 = 1.96  # as the published intervals; for few units it is too narrow (the t quantile for n = 12 is 2.20)
PUBLISHED = "1.96·sd/√n"
BY_CASE = "beta, by case"
TWO_WAY = "beta, by case and neighbour"
POOLED = "beta, questions pooled, bootstrap by case"
STUDENT = "Student's t moved out by the skewness, by case"
NO_SPREAD = "undefined, because all agree"
LEAST_CASES = 5  # independent units below which no interval is given: so few say next to nothing
_NOISE = 1e-9  # standard errors below this share of the mean (of 1 for small means) are rounding, not spread


class Interval(NamedTuple):
    """A mean with its 95 % interval.

    Attributes:
        mean: The mean, or None where there is no unit.
        half: Half the width of the published interval, 1.96·sd/√n; None for fewer than five units.
        n: Units.
        ends: Lower and upper end of the default interval (``bounded``); None where only the published one is there,
            for fewer than five units, and where all units agree on values without a scale.
        kind: What ``low`` and ``high`` are: one of ``PUBLISHED``, ``BY_CASE``, ``TWO_WAY``, ``POOLED``, ``STUDENT``,
            ``NO_SPREAD``; empty where a figure is shown without an interval.
        unit: What the values are: ``fraction`` is shown in percent, ``ratio`` as a factor, any other as it is.
    """

    mean: float | None
    half: float | None
    n: int
    ends: tuple[float, float] | None = None
    kind: str = PUBLISHED
    unit: str = "fraction"

    @property
    def low(self) -> float | None:
        """Lower end: of the default interval where there is one, else of the published one, which is not clipped."""
        return self._bounds[0]

    @property
    def high(self) -> float | None:
        """Upper end, likewise."""
        return self._bounds[1]

    @property
    def told(self) -> str:
        """The kind of the interval that is shown, or why there is none where that is known; else nothing."""
        return self.kind if self.low is not None or self.kind == NO_SPREAD else ""

    @property
    def _bounds(self) -> tuple[float | None, float | None]:
        """Both ends; none where the published interval has no width: values that agree are no certainty."""
        if self.ends is not None:
            return self.ends
        if self.mean is None or self.half is None or self.kind != PUBLISHED or not varies(self.half**2, self.mean):
            return None, None
        return self.mean - self.half, self.mean + self.half

    @property
    def missing(self) -> str:
        """Why there is a mean and no interval; empty where there is one.

        Example:
            >>> Interval(0.5, None, 3).missing, Interval(0.5, 0.0, 9).missing, Interval(0.5, 0.1, 9).missing
            ('n = 3: too few', 'all agree', '')
        """
        if self.mean is None or self.low is not None or not self.kind:
            return ""
        if self.n < LEAST_CASES:
            return f"n = {self.n}: too few"
        return "one neighbour" if self.kind == TWO_WAY else "all agree"

    def minus(self, constant: float) -> Interval:
        """The interval of the mean less a constant.

        Example:
            >>> Interval(0.75, 0.125, 9, (0.5, 1.0)).minus(1.0)[:4]
            (-0.25, 0.125, 9, (-0.5, 0.0))
        """
        ends = None if self.ends is None else (self.ends[0] - constant, self.ends[1] - constant)
        return self._replace(mean=None if self.mean is None else self.mean - constant, ends=ends)

    @property
    def alone(self) -> Interval:
        """The mean without an interval, and without a word on it."""
        return self._replace(half=None, ends=None, kind="")

    @property
    def published(self) -> Interval:
        """The same mean with the published interval."""
        return Interval(self.mean, self.half, self.n, unit=self.unit)


def varies(variance: float, mean: float = 0.0) -> bool:
    """Whether the variance of a mean is more than the noise of additions.

    Example:
        >>> varies(1e-32, 7.0), varies(1e-6, 7.0)
        (False, True)
    """
    return variance > (_NOISE * max(1.0, abs(mean))) ** 2


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean and 1.96·sd/√n, with the sample standard deviation (n - 1).

    The published token-level intervals of ScEdit (Table 2) are of this kind, with one value a case. The values must be
    independent: give one value a cluster, not one a prompt. Fewer than five values have no interval.

    Example:
        >>> coin = mean_interval([0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
        >>> coin.mean, round(coin.half, 4), coin.n
        (0.5, 0.4383, 6)
        >>> mean_interval([1.0, 0.0]).half is None
        True
    """
    n = len(values)
    if n == 0:
        return Interval(None, None, 0)
    mean = math.fsum(values) / n
    if n < LEAST_CASES:
        return Interval(mean, None, n)
    variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
    return Interval(mean, Z95 * math.sqrt(variance / n), n)


def not_excluded(n: int) -> float:
    """How far from certain a rate may be although all of n independent units agree: 1 - 0.025^(1/n).

    The exact (Clopper-Pearson) bound. Where every unit has the same value, ``mean_interval`` has zero width,
    which is no knowledge: twelve hits of twelve leave true rates down to 74 % possible.

    Example:
        >>> round(not_excluded(12), 3)
        0.265
    """
    return float(1.0 - 0.025 ** (1.0 / n))


def skew_shift(third: float, error: float, t: float) -> float:
    """How far skewness moves an interval of Student's t towards the longer tail (Johnson 1978).

    Rare values far away are often missed by a sample, and its mean lies beyond the truth then with too small an error.

    Args:
        third: Third central moment of the estimate.
        error: Its standard error.
        t: Quantile of Student's t that the interval has.

    Example:
        >>> round(skew_shift(-0.3, 1.0, 2.0), 2), skew_shift(0.0, 1.0, 2.0)
        (-0.45, 0.0)
    """
    return third / error**2 * (1 + 2 * t * t) / 6


_CEILING = 0.6  # share of rated cases with one value from which on those that differ decide the interval ...
_DIFFERING = 5  # ... so fewer of them make none: coverage was 30 to 76 %
_WORTH = 10.0  # rated scripts that unequal weights must be worth (Kish), for the same reason


def why_unsupported(rated: Sequence[tuple[str, float, float]]) -> str:
    """Why no interval is made of people's ratings; empty where simulation supports one.

    Near the ceiling the few cases that differ decide, and a sample that missed them says nothing of them; ratings drawn
    with very unequal probabilities are worth fewer.

    Args:
        rated: Case, people's mean and sampling probability of every rated script.

    Example:
        >>> why_unsupported([(f"c{n}", 6.0 if n == 0 else 7.0, 1.0) for n in range(20)])
        'too near one value for an interval: of 20 rated cases 19 have the same mean, and 1 differs (5 are needed)'
    """
    means: dict[str, list[float]] = {}
    for case, human, _ in rated:
        means.setdefault(case, []).append(human)
    values = Counter(round(math.fsum(ratings) / len(ratings), 6) for ratings in means.values())
    count, same = sum(values.values()), max(values.values(), default=0)
    if count - same < min(_DIFFERING, count) and _CEILING * count <= same < count:
        return (
            f"too near one value for an interval: of {count} rated cases {same} have the same mean, and "
            f"{count - same} {'differs' if count - same == 1 else 'differ'} ({_DIFFERING} are needed)"
        )
    weights = [1.0 / probability for _, _, probability in rated]
    worth = math.fsum(weights) ** 2 / math.fsum(w * w for w in weights) if weights else 0.0
    if max(weights, default=1.0) > min(weights, default=1.0) * (1 + 1e-9) and worth < _WORTH:
        return (
            f"drawn too unequally for an interval: {counted(len(weights), 'rated script')} weigh as much as "
            f"{worth:.1f} ({_WORTH:g} are needed)"
        )
    return ""


_ROUNDING = 1e-12


def binomial_interval(hits: int, n: int, *, kind: Literal["exact", "wilson"] = "exact") -> Estimate:
    """Share ``hits / n`` with a 95 % interval for outcomes that are independent: one a case.

    Several prompts of a case are not (``bounded.clustered_interval``).

    Args:
        hits: Outcomes that count.
        n: All outcomes.
        kind: ``exact`` (Clopper-Pearson) covers at least as often as it says; Wilson's score interval is narrower, and
            right on average.

    Example:
        >>> binomial_interval(9, 10).text(), binomial_interval(9, 10, kind="wilson").text()
        ('0.900 [0.555, 0.997]', '0.900 [0.596, 0.982]')
        >>> binomial_interval(0, 0).text()
        'undefined, because there is no outcome'
    """
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    if n == 0:
        return undefined("share", "there is no outcome")
    ends = binomtest(hits, n).proportion_ci(0.95, kind)
    method = "exact binomial (Clopper-Pearson), 95 %" if kind == "exact" else "Wilson score, 95 %"
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
